#include "fairlead/policy/kit/crowding.h"

#include "fairlead/model/known_speed.h"

namespace fairlead {

void Crowding::begin(const View& view, const Plan& plan) {
  const Fabric* const fabric = view.speed.shared_links();
  is_seen_ = fabric != nullptr;
  if (!is_seen_) return;
  const std::size_t racks = view.cluster.rack_nodes.size();
  if (!uplinks_ || hosts_ != view.cluster.hosts || racks_ != racks) {
    uplinks_.emplace(view.cluster, *fabric);
    hosts_ = view.cluster.hosts;
    racks_ = racks;
  } else {
    uplinks_->clear();
  }
  for (JobId job : view.running) placed(view, plan, job);
}

void Crowding::placed(const View& view, const Plan& plan, JobId job) {
  if (!is_seen_) return;
  const Gang gang = plan.gang(job);
  if (gang.size() < 2) return;  // it is on one host
  if (const auto iteration = view.speed.iteration(job, gang)) uplinks_->add(job, *iteration, gang);
}

void Crowding::stopped(JobId job) {
  if (is_seen_) uplinks_->remove(job);
}

double Crowding::speed_at(const View& view, JobId job, Gang gang) {
  if (!is_seen_ || gang.size() < 2) return 1;
  const auto iteration = view.speed.iteration(job, gang);
  return iteration ? uplinks_->speed_at(*iteration, gang) : 1;
}

double Crowding::loss_of_others(const View& view, JobId job, Gang gang) {
  if (!is_seen_ || gang.size() < 2) return 0;
  const auto iteration = view.speed.iteration(job, gang);
  return iteration && iteration->traffic_mb > 0 ? uplinks_->loss_of_others(gang) : 0;
}

}  // namespace fairlead
