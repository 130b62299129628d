#include "fairlead/policy/fairlead/user_sums.h"

#include "fairlead/model/known_speed.h"
#include "fairlead/policy/hadar/auction.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace fairlead {

double speed_on_mean(const View& view, const Plan& plan, JobId job, std::uint32_t gang) {
  double sum = 0;
  double gpus = 0;
  const Tier tier = view.cluster.best_tier(gang);
  for (GpuTypeId type : ids<GpuTypeId>(view.cluster.type_names.size())) {
    if ((view.jobs.types[job] & type_bit(type)) == 0) continue;
    const double rate = view.speed.rate(job, type, gang, tier).value_or(Rate{0}).value();
    if (!(rate > 0)) continue;
    sum += rate * plan.free().capacity(type);
    gpus += plan.free().capacity(type);
  }
  return gpus > 0 ? sum / gpus : 0;
}

void UserSums::update(const View& view, const Plan& plan, std::span<const JobId> edited) {
  const auto reset = [&] {
    sums_.clear();
    allocated_units_.clear();
  };
  changed_.update(view, plan, edited, reset, [&](JobId job) { set(view, plan, job); });
  FL_DCHECK(agrees(view, plan), "sums of users");
}

// Counts all jobs again.
bool UserSums::agrees(const View& view, const Plan& plan) const {
  UserSums again;
  for (JobId job : view.running) again.set(view, plan, job);
  for (JobId job : view.waiting) again.set(view, plan, job);
  again.sums_.resize(sums_.size());
  return std::ranges::equal(again.sums_, sums_);
}

void UserSums::set(const View& view, const Plan& plan, JobId job) {
  remove(view, job);
  const JobState state = view.jobs.state[job];
  if (state != JobState::kWaiting && state != JobState::kRunning) return;
  Sums& sums = sums_.grow_to(view.jobs.user[job]);
  const std::uint32_t gang = view.jobs.gpus_max[job];
  const std::int64_t allocated = allocated_units(view, plan, job);
  sums.gpus += gang;
  sums.allocated_units += allocated;
  ++sums.gangs[gang];
  allocated_units_[job] = allocated;
}

void UserSums::remove(const View& view, JobId job) {
  if (!allocated_units_.has(job)) allocated_units_.resize(view.jobs.size(), kAbsent);
  const std::int64_t allocated = std::exchange(allocated_units_[job], kAbsent);
  if (allocated == kAbsent) return;
  Sums& sums = sums_[view.jobs.user[job]];
  const auto gang = sums.gangs.find(view.jobs.gpus_max[job]);
  sums.gpus -= gang->first;
  sums.allocated_units -= allocated;
  if (--gang->second == 0) sums.gangs.erase(gang);
}

std::int64_t UserSums::allocated_units(const View& view, const Plan& plan, JobId job) {
  if (!plan.has_gang(job)) return 0;
  double allocated = 0;
  for_each_copy(plan.gang(job), [&](Gang gang) {
    const double mean = speed_on_mean(view, plan, job, gpus_of(gang));
    allocated += gpus_of(gang) * (mean > 0 ? rate_on(view, job, gang) / mean : 1);
  });
  return std::llround(kUnitsPerGpu * allocated);
}

}  // namespace fairlead
