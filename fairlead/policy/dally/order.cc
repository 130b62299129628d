#include "fairlead/policy/dally/order.h"

#include "fairlead/model/known_work.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace fairlead {
namespace {

constexpr double kMostScore = 1e9;

}  // namespace

double DallyOrder::score(const View& view, JobId job) const {
  const JobTiers& tiers = tiers_.of(view, job);
  const double best = tiers.at_best();
  if (!(best > 0)) return 0;
  const double slow = std::clamp(best / tiers.at_widest(), 1.0, kMostScore);
  if (options_.score == DallyScore::kSlowdown) return slow - 1;
  const double communication = 1 - 1 / slow;
  const double left = to_seconds(view.work.remaining(job)) / to_seconds(view.work.total(job));
  return (slow - 1) * communication * left;
}

std::int64_t DallyOrder::service_class(const View& view, JobId job) const {
  const GpuTime time = options_.classes == DallyClasses::kLeft
                           ? occupancy(view.work.remaining(job), view.jobs.gpus[job])
                           : view.jobs.attained(job, view.now);
  return std::ranges::count_if(options_.limits_gpu_s, [&](std::int64_t limit_s) {
    return time >= occupancy(seconds(limit_s), 1);
  });
}

double DallyOrder::left_in_class(const View& view, JobId job, std::int64_t service_class) const {
  FL_DCHECK(!is_last_class(service_class), "class {}", service_class);
  if (options_.classes == DallyClasses::kLeft) return std::numeric_limits<double>::infinity();
  const auto level = static_cast<std::size_t>(service_class);
  const GpuTime until = occupancy(seconds(options_.limits_gpu_s[level]), 1);
  return static_cast<double>((until - view.jobs.attained(job, view.now)).gpu_ms) / 1000;
}

OrderKey DallyOrder::queue(const View& view, JobId job) const {
  if (options_.preempt == DallyPreempt::kNetwork) return round(view, job);
  return {.major = service_class(view, job), .label = view.jobs.arrival[job].ms, .job = job};
}

OrderKey DallyOrder::round(const View& view, JobId job) const {
  OrderKey key{.label = view.jobs.arrival[job].ms, .job = job};
  if (options_.preempt != DallyPreempt::kNetwork) key.major = service_class(view, job);
  if (options_.moves_for_speed()) key.minor = -std::llround(score(view, job) * 1e6);
  return key;
}

}  // namespace fairlead
