#include "fairlead/policy/kit/queue_policy.h"

namespace fairlead {

void QueuePolicy::decide(const View& view, Plan& plan) {
  waiting_.reserve(view.jobs.size());
  bool has_more_room = plan.continues();
  for (const Event& event : view.news) {
    if (begins_to_wait(event.kind)) {
      waiting_.add(0, gang_asked(view.jobs, event.job), view.jobs.types[event.job],
                   order(view, event.job));
    }
    if (ends_job(event.kind)) waiting_.erase(event.job);
    has_more_room |= frees_gpus(event.kind);
  }
  // A class that found no room finds none until GPUs become free.
  if (has_more_room) waiting_.unblock();
  const auto stops_at = [&](const ClassQueue::Class& next) {
    return on_misfit_ == OnMisfit::kStop &&
           has_types_for(placement_, view.cluster, next.gang(), next.types());
  };
  start_waiting(
      waiting_, stops_at, plan,
      [&](const ClassQueue::Class& next) { return start(view, plan, next.head().job); },
      [](const OrderKey&, std::uint32_t) {});
}

}  // namespace fairlead
