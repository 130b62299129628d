#include "metrics/bounds.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace fairlead {
namespace {

struct BestSpeed {
  Rate speed;          // of any gang
  double per_gpu = 0;  // of any gang, divided by its size
  double of_all = 0;   // of all GPUs together, as copies
};

BestSpeed best_speed(const Cluster& cluster, const Jobs& jobs, JobId job, const Speed& speed) {
  BestSpeed best;
  const std::uint32_t gpus_max = std::min(jobs.gpus_max[job], cluster.gpus);
  for (GpuTypeId type : ids<GpuTypeId>(cluster.type_names.size())) {
    double per_gpu = 0;
    for (std::uint32_t gpus = jobs.gpus_min[job]; gpus <= gpus_max; ++gpus) {
      for (std::size_t tier = 0; tier < kTiers; ++tier) {
        const Rate rate = speed.rate(job, type, gpus, static_cast<Tier>(tier));
        best.speed = std::max(best.speed, rate);
        per_gpu = std::max(per_gpu, rate.value() / gpus);
      }
    }
    best.per_gpu = std::max(best.per_gpu, per_gpu);
    best.of_all += per_gpu * cluster.type_gpus[type];
  }
  return best;
}

JobBound bound_of(Duration work, BestSpeed best, bool copies) {
  if (best.speed.fixed == 0) return {};  // it never runs
  if (copies) {
    // A little more than the sum, because the speeds of copies are rounded each.
    const double of_all = std::min(best.of_all * (1 + 1e-7), 1e6);
    best.speed = std::max(best.speed, Rate::of(of_all));
  }
  const double gpu_ms = static_cast<double>(work.ms) / best.per_gpu;
  return {time_to_finish(reference_work(work), best.speed), {static_cast<Int128>(gpu_ms)}};
}

}  // namespace

IdVector<JobId, JobBound> job_bounds(const Cluster& cluster, const Workload& workload,
                                     const Speed& speed, bool copies) {
  const Jobs& jobs = workload.jobs;
  // Jobs that are equal in all of this have equal speeds.
  const auto kind_of = [&](JobId job) {
    return std::tuple(jobs.model[job], jobs.gpus[job], jobs.gpus_min[job], jobs.gpus_max[job],
                      std::string_view(workload.reference_types[job]));
  };
  std::map<decltype(kind_of(JobId(0))), BestSpeed> speeds;
  IdVector<JobId, JobBound> bounds(jobs.size());
  for (JobId job : ids<JobId>(jobs.size())) {
    const auto [found, is_new] = speeds.try_emplace(kind_of(job));
    if (is_new) found->second = best_speed(cluster, jobs, job, speed);
    bounds[job] = bound_of(workload.durations[job], found->second, copies);
  }
  return bounds;
}

}  // namespace fairlead
