#include "fairlead/policy/hadar/settled.h"

#include "fairlead/model/known_speed.h"
#include "fairlead/policy/hadar/auction.h"

#include <utility>

namespace fairlead {

void SettledJobs::update(const View& view, const Plan& plan, std::span<const JobId> edited) {
  const auto reset = [&] {
    is_settled_.clear();
    settled_ = 0;
  };
  changed_.update(view, plan, edited, reset, [&](JobId job) { set(view, plan, job); });
}

void SettledJobs::set(const View& view, const Plan& plan, JobId job) {
  std::uint8_t& is_settled = is_settled_.grow_to(job);
  settled_ -= std::exchange(is_settled, SettledJobs::is_settled(view, plan, job));
  settled_ += is_settled;
}

bool SettledJobs::is_settled(const View& view, const Plan& plan, JobId job) {
  const Jobs& jobs = view.jobs;
  if (jobs.state[job] != JobState::kRunning || !plan.has_gang(job)) return false;
  const Gang gang = plan.gang(job);
  const std::uint32_t gpus = jobs.gpus[job];
  const bool has_one_size = jobs.gpus_min[job] == gpus && jobs.gpus_max[job] == gpus;
  if (copies_of(gang) != 1 || gpus_of(gang) != gpus || !has_one_size) return false;
  const double rate = rate_on(view, job, gang);
  for (GpuTypeId type : ids<GpuTypeId>(view.cluster.type_names.size())) {
    if ((jobs.types[job] & type_bit(type)) == 0) continue;
    for (auto tier = static_cast<std::size_t>(view.cluster.best_tier(gpus)); tier < kTiers;
         ++tier) {
      if (view.speed.rate(job, type, gpus, Tier(tier)).value_or(Rate{}).value() > rate)
        return false;
    }
  }
  return rate > 0;
}

}  // namespace fairlead
