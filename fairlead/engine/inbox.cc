#include "fairlead/engine/inbox.h"

#include "fairlead/model/jobs.h"

#include <algorithm>
#include <tuple>

namespace fairlead {

UserId Inbox::user_of(std::string_view name, const Users& known, std::int64_t tickets) {
  for (UserId user : ids<UserId>(known.size())) {
    if (known.names[user] == name) return user;
  }
  const auto found = std::ranges::find(users_, name, &UserSpec::name);
  if (found != users_.end()) return found->user;
  const UserId user(known.size() + users_.size());
  add(UserSpec{.user = user, .name = keep(std::string(name)), .tickets = tickets});
  return user;
}

Batch Inbox::take(Time now, Time present) {
  users_told_.swap(users_);
  nodes_told_.swap(nodes_);
  jobs_told_.swap(jobs_);
  events_told_.swap(events_);
  texts_told_.swap(texts_);
  users_.clear();
  nodes_.clear();
  jobs_.clear();
  events_.clear();
  texts_.clear();
  std::ranges::stable_sort(jobs_told_, {}, &JobSpec::job);
  // The hold of a job that comes held follows its arrival.
  const auto kind_of = [&](const Event& event) {
    const bool comes_held = event.kind == EventKind::kHeld &&
                            std::ranges::binary_search(jobs_told_, event.job, {}, &JobSpec::job);
    return comes_held ? EventKind::kArrived : event.kind;
  };
  std::ranges::stable_sort(events_told_, {}, [&](const Event& event) {
    return std::tuple(kind_of(event), event.job.row(), event.node.row(), event.user.row());
  });
  return {.now = now,
          .present = present,
          .users = users_told_,
          .nodes = nodes_told_,
          .jobs = jobs_told_,
          .events = events_told_};
}

}  // namespace fairlead
