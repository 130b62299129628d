#include "fairlead/policy/kit/queue_policy.h"

namespace fairlead {

void QueuePolicy::decide(const View& view, Plan& plan) {
  waiting_.reserve(view.jobs.size());
  bool has_more_room = false;
  for (const Event& event : view.news) {
    if (begins_to_wait(event.kind)) {
      waiting_.add(0, gang_asked(view.jobs, event.job), view.jobs.types[event.job],
                   order(view, event.job));
    }
    if (ends_job(event.kind)) waiting_.erase(event.job);
    has_more_room |= frees_gpus(event.kind);
  }
  // A class that found no room finds none until GPUs come free.
  if (has_more_room) waiting_.unblock();
  start_waiting(
      waiting_, on_misfit_, plan,
      [&](const ClassQueue::Class& next) { return start(view, plan, next.head().job); },
      [](const OrderKey&, std::uint32_t) {});
}

}  // namespace fairlead
