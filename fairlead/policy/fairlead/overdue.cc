#include "fairlead/policy/fairlead/overdue.h"

#include <tuple>

namespace fairlead {
namespace {

bool has_run(const View& view, JobId job) { return view.jobs.attained_settled[job].gpu_ms > 0; }

}  // namespace

void Overdue::begin(const View& view) {
  if (!patience_) return;
  if (!view.running.empty()) {
    const JobId last = *std::ranges::max_element(view.running);
    last_ran_.resize(std::max(last_ran_.size(), last.row() + std::size_t{1}));
  }
  users_.resize(view.users.size());
  largest_.clear();
  largest_.resize(view.users.size());
  const auto note_gang = [&](JobId job) {
    std::uint32_t& largest = largest_[view.jobs.user[job]];
    largest = std::max(largest, view.jobs.gpus[job]);
  };
  for (JobId job : view.running) {
    last_ran_[job] = view.now;
    note_gang(job);
  }
  for (JobId job : view.waiting) {
    if (has_run(view, job)) note_gang(job);
  }

  next_.clear();
  next_.resize(view.users.size(), JobId::none());
  const auto order = [&](JobId job, JobId tried) {
    return std::tuple(!has_run(view, job), !tried.is_none() && job <= tried, job);
  };
  for (JobId job : view.waiting) {
    const UserId user = view.jobs.user[job];
    if (view.now - waits_since(view, job) < *patience_) continue;
    if (!has_run(view, job) && view.jobs.gpus[job] <= largest_[user]) continue;
    const JobId tried = users_[user].job;
    JobId& next = next_[user];
    if (next.is_none() || order(job, tried) < order(next, tried)) next = job;
  }
  for (UserId user : ids<UserId>(users_.size())) {
    Turn& turn = users_[user];
    if (turn.comes_first && has_turn(view, turn.job)) continue;
    turn.comes_first = !next_[user].is_none();
    if (turn.comes_first) turn.job = next_[user];
  }
}

}  // namespace fairlead
