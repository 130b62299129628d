#include "fairlead/policy/kit/job_kinds.h"

#include "fairlead/model/known_speed.h"
#include "fairlead/model/task_limits.h"

#include <algorithm>

namespace fairlead {
namespace {

JobKinds::Speeds measured(const View& view, const Plan& plan, JobId job, std::uint32_t gpus) {
  JobKinds::Speeds speeds{.gpus = gpus};
  double sum = 0;
  double up = 0;
  for (GpuTypeId type : ids<GpuTypeId>(view.cluster.type_names.size())) {
    for (std::size_t tier = 0; tier < kTiers; ++tier) {
      const auto rate = view.speed.rate(job, type, gpus, Tier(tier));
      speeds.rates.push_back(rate.value_or(Rate{}).value());
    }
    const double best = speeds.rate(type, view.cluster.best_tier(gpus));
    const std::uint32_t gpus_up = plan.free().capacity(type);
    if ((view.jobs.types[job] & type_bit(type)) == 0 || !(best > 0) || gpus_up == 0) continue;
    sum += best * gpus_up;
    up += gpus_up;
    speeds.best = std::max(speeds.best, best);
  }
  speeds.mean = up > 0 ? sum / up : 0;
  return speeds;
}

// Returns whether other resources limit the sizes that the job can have.
bool limits_sizes(const Jobs& jobs, JobId job) {
  return jobs.limits != nullptr && jobs.limits->is_lasting() &&
         jobs.gpus_min[job] < jobs.gpus_max[job];
}

}  // namespace

void JobKinds::update(const View& view, const Plan& plan) {
  if (!changed_.update(view, plan)) return;
  ++revision_;
  for (std::vector<Speeds>& kind : speeds_) kind.clear();
}

std::uint32_t JobKinds::row(const View& view, JobId job) {
  if (!row_.has(job)) row_.resize(view.jobs.size(), kNone);
  if (row_[job] != kNone) return row_[job];
  const auto next = static_cast<std::uint32_t>(speeds_.size());
  const Key key{.alike = view.speed.alike(job),
                .types = view.jobs.types[job],
                .gpus_min = view.jobs.gpus_min[job],
                .gpus_max = view.jobs.gpus_max[job],
                .task_gpus = view.jobs.task_gpus[job],
                .closeness = view.jobs.closeness[job].bits(),
                .limited = limits_sizes(view.jobs, job) ? view.jobs.limits->kind_of(job) : 0};
  const auto [found, is_new] = rows_.try_emplace(key, next);
  if (is_new) {
    speeds_.emplace_back();
    asked_.push_back({key.types, key.task_gpus, view.jobs.closeness[job]});
  }
  return row_[job] = found->second;
}

const JobKinds::Speeds& JobKinds::speeds(const View& view, const Plan& plan, JobId job,
                                         std::uint32_t row, std::uint32_t gpus) {
  std::vector<Speeds>& kind = speeds_[row];
  const auto found = std::ranges::find(kind, gpus, &Speeds::gpus);
  if (found != kind.end()) return *found;
  return kind.emplace_back(measured(view, plan, job, gpus));
}

}  // namespace fairlead
