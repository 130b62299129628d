#include "fairlead/policy/dally/paces.h"

#include "fairlead/model/step.h"

#include <algorithm>
#include <limits>

namespace fairlead {

double DallyPaces::present_rate(const View& view, const Plan& plan, JobId job) const {
  double slowest = std::numeric_limits<double>::infinity();
  const Gang gang = plan.gang(job);
  const DallyTier tier = dally_tier_of(view.cluster, gang);
  const JobTiers& tiers = tiers_.of(view, job);
  for (Slice slice : gang) {
    slowest = std::min(slowest, tiers.rate(view.cluster.node_type[slice.node], tier));
  }
  return slowest * crowding_.speed(job);
}

DallyPace DallyPaces::present(const View& view, const Plan& plan, JobId job) {
  DallyPace pace{.rate = present_rate(view, plan, job)};
  crowding_.stopped(job);
  pace.loss_of_others = crowding_.loss_of_others(view, job, plan.gang(job));
  crowding_.placed(view, plan, job);
  return pace;
}

DallyPace DallyPaces::on_free_gpus(const View& view, Plan& plan, JobId job) {
  const JobTiers& tiers = tiers_.of(view, job);
  // Jobs of one kind have the same choice, unless their traffic or other resources count.
  if (crowding_.is_seen() || view.jobs.limits != nullptr) {
    return find_on_free_gpus(view, plan, job, tiers);
  }
  const auto [found, is_new] = on_free_gpus_.try_emplace(&tiers);
  if (is_new) found->second = find_on_free_gpus(view, plan, job, tiers);
  return found->second;
}

DallyPace DallyPaces::find_on_free_gpus(const View& view, Plan& plan, JobId job,
                                        const JobTiers& tiers) {
  for (DallyTier tier : kDallyTierList) {
    const auto place = fastest_place(view, plan, tiers, tier, tiers.types(tier), job);
    if (place) return without(view, plan, {}, job, *place);
  }
  return {};
}

DallyPace DallyPaces::without(const View& view, Plan& plan, std::span<const JobId> victims,
                              JobId job, const DallyPlace& place) {
  DallyPace pace{.rate = tiers_.of(view, job).rate(place.type, place.tier)};
  if (!crowding_.is_seen() || place.tier == DallyTier::kNode) return pace;
  const Plan::Mark before = plan.mark();
  for (JobId victim : victims) {
    plan.stop(victim, StopCause::kPriority);
    crowding_.stopped(victim);
  }
  place_there(view, plan, place, job);
  pace.rate *= crowding_.speed_at(view, job, plan.gang(job));
  pace.loss_of_others = crowding_.loss_of_others(view, job, plan.gang(job));
  plan.rollback(before);
  for (JobId victim : victims) crowding_.placed(view, plan, victim);
  return pace;
}

}  // namespace fairlead
