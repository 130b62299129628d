#include "fairlead/engine/inbox.h"

#include <algorithm>
#include <tuple>

namespace fairlead {

Batch Inbox::take(Time now, Time present) {
  users_told_.swap(users_);
  jobs_told_.swap(jobs_);
  events_told_.swap(events_);
  texts_told_.swap(texts_);
  users_.clear();
  jobs_.clear();
  events_.clear();
  texts_.clear();
  std::ranges::stable_sort(events_told_, {}, [](const Event& event) {
    return std::tuple(event.kind, event.job.row(), event.node.row(), event.user.row());
  });
  std::ranges::stable_sort(jobs_told_, {}, &JobSpec::job);
  return {.now = now,
          .present = present,
          .users = users_told_,
          .jobs = jobs_told_,
          .events = events_told_};
}

}  // namespace fairlead
