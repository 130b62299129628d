#include "fairlead/policy/fairlead/starving.h"

#include <algorithm>

namespace fairlead {

bool Starving::begin(const View& view) {
  if (!patience_) return false;
  bool is_any = false;
  for (Wait& wait : users_) {
    const bool has_turn = !wait.first.is_none() &&
                          view.jobs.state[wait.first] == JobState::kRunning &&
                          view.now - view.jobs.run_since[wait.first] < turn_;
    if (!has_turn) wait.first = JobId::none();
    if (wait.is_heard || !is_over(view, wait)) continue;
    wait.is_heard = true;
    is_any = true;
  }
  return is_any;
}

bool Starving::goes_first(const View& view, UserId user, JobId job, double gpus, double due) {
  if (!patience_ || !users_.has(user)) return false;
  Wait& wait = users_[user];
  if (wait.first.is_none() && is_over(view, wait) && gpus <= due) wait.first = job;
  return wait.first == job;
}

void Starving::end(const View& view, Plan& plan, std::size_t users,
                   const std::function<bool(UserId)>& starves) {
  if (!patience_) return;
  users_.resize(std::max(users_.size(), users));
  for (UserId user : ids<UserId>(users)) {
    Wait& wait = users_[user];
    if (!wait.first.is_none() && !plan.has_gang(wait.first)) wait.first = JobId::none();
    if (!starves(user)) {
      wait.since = Time{-1};
      wait.is_heard = false;
    } else if (wait.since.ms < 0) {
      wait.since = view.now;
      plan.wake_at(view.now + *patience_);
    }
  }
}

}  // namespace fairlead
