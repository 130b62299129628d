#include "policy/queue_policy.h"

namespace fairlead {

void QueuePolicy::decide(const View& view, Plan& plan) {
  waiting_.reserve(view.jobs.size());
  bool has_more_room = false;
  for (const Event& event : view.news) {
    switch (event.kind) {
      case EventKind::kArrived:
        waiting_.add(0, view.jobs.gpus[event.job], view.jobs.types[event.job],
                     order(view, event.job));
        break;
      case EventKind::kEvicted:
      case EventKind::kStartFailed:
        waiting_.add(0, view.jobs.gpus[event.job], view.jobs.types[event.job],
                     order(view, event.job));
        has_more_room = true;
        break;
      case EventKind::kFinished:
      case EventKind::kFailed:
      case EventKind::kCancelled:
        waiting_.erase(event.job);
        has_more_room = true;
        break;
      case EventKind::kNodeUp:
        has_more_room = true;
        break;
      default:
        break;
    }
  }
  // A class that found no room finds none until GPUs come free.
  if (has_more_room) waiting_.unblock();
  start_waiting(waiting_, on_misfit_, placement_, view, plan,
                [](const OrderKey&, std::uint32_t) {});
}

}  // namespace fairlead
