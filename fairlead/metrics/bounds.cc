#include "fairlead/metrics/bounds.h"

#include "fairlead/solve/single_machine.h"
#include "fairlead/solve/time_shares.h"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>
#include <vector>

namespace fairlead {
namespace {

// Jobs that may run on the same GPUs.
struct Kind {
  Rate speed;                   // best, of any gang
  std::vector<double> per_gpu;  // best, by type, of any gang on the type, divided by its size
  double mix_speed = 1;
  double work_ms = 0;  // work of all its jobs, ms
};

double mix_speed(const Cluster& cluster, const Jobs& jobs, JobId job, const Speed& speed) {
  const std::uint32_t gang = jobs.gpus[job];
  double sum = 0;
  double gpus = 0;
  for (GpuTypeId type : ids<GpuTypeId>(cluster.type_names.size())) {
    const Rate rate = speed.rate(job, type, gang, cluster.best_tier(gang));
    if (rate.fixed == 0) continue;
    sum += rate.value() * cluster.type_gpus[type];
    gpus += cluster.type_gpus[type];
  }
  return gpus > 0 ? sum / gpus : 1;
}

Kind kind_of_job(const Cluster& cluster, const Jobs& jobs, JobId job, const Speed& speed) {
  Kind kind;
  kind.mix_speed = mix_speed(cluster, jobs, job, speed);
  const std::uint32_t gpus_max = std::min(jobs.gpus_max[job], cluster.gpus);
  for (GpuTypeId type : ids<GpuTypeId>(cluster.type_names.size())) {
    double& per_gpu = kind.per_gpu.emplace_back(0);
    for (std::uint32_t gpus = jobs.gpus_min[job]; gpus <= gpus_max; ++gpus) {
      // It cannot be closer together than that.
      for (auto tier = static_cast<std::size_t>(cluster.best_tier(gpus)); tier < kTiers; ++tier) {
        const Rate rate = speed.rate(job, type, gpus, static_cast<Tier>(tier));
        kind.speed = std::max(kind.speed, rate);
        per_gpu = std::max(per_gpu, rate.value() / gpus);
      }
    }
  }
  return kind;
}

using Kinds = std::vector<Kind>;

// Returns prices per GPU at which the work of all kinds is worth the most of the cluster's time: the prices of the
// program with the least makespan, with GPUs as a fluid. Any prices give a bound, also equal ones.
std::vector<double> prices(const Cluster& cluster, const Kinds& kinds) {
  const std::size_t types = cluster.type_names.size();
  // A row of time_shares.h has at most all the time of one gang; here it may have all GPUs, and less
  // than all the time of them, or the bound on its time would take the value from the GPUs' prices.
  const double gpus = 2.0 * cluster.gpus;
  ShareProblem everything;
  everything.gpus.assign(cluster.type_gpus.begin(), cluster.type_gpus.end());
  for (const Kind& kind : kinds) {
    if (kind.speed.fixed == 0) continue;
    everything.gang.push_back(gpus);
    everything.count.push_back(1);
    everything.floor.push_back(0);
    everything.part.push_back(kind.work_ms);
    for (double per_gpu : kind.per_gpu) everything.rate.push_back(per_gpu * gpus);
  }
  std::vector<double> equal(types, 1);
  if (everything.gang.empty()) return equal;
  const Result<Shares> shares = raise_level(everything);
  const bool has_prices = shares && std::ranges::max(shares->gpu_price) > 0;
  return has_prices ? shares->gpu_price : equal;
}

// The least fraction of the cluster's worth that a job's speed of 1 costs.
double least_cost(const Cluster& cluster, const Kind& kind, const std::vector<double>& prices) {
  double least = std::numeric_limits<double>::infinity();
  double worth = 0;
  for (GpuTypeId type : ids<GpuTypeId>(cluster.type_names.size())) {
    const std::size_t i = type.row();
    worth += prices[i] * cluster.type_gpus[type];
    if (kind.per_gpu[i] > 0) least = std::min(least, prices[i] / kind.per_gpu[i]);
  }
  // A little less, because prices and speeds are rounded.
  return least / worth * (1 - 1e-7);
}

Rate best_speed(const Cluster& cluster, const Kind& kind, bool copies) {
  if (!copies) return kind.speed;
  double together = 0;
  for (GpuTypeId type : ids<GpuTypeId>(cluster.type_names.size())) {
    together += kind.per_gpu[type.row()] * cluster.type_gpus[type];
  }
  // A little more than the sum, because the speeds of copies are rounded each.
  return std::max(kind.speed, Rate::of(std::min(together * (1 + 1e-7), 1e6)));
}

// Requires one GPU type and a gang of one size.
void add_communication(const Cluster& cluster, const Workload& workload, const Speed& speed,
                       JobId job, JobBound& bound) {
  const Jobs& jobs = workload.jobs;
  const std::uint32_t gpus = jobs.gpus[job];
  if (cluster.type_names.size() != 1 || jobs.gpus_min[job] != jobs.gpus_max[job]) return;
  const GpuTypeId type(0);
  double computing = 0;  // fraction of the time with its gang, at most
  double run_ms = 0;
  for (auto tier = static_cast<std::size_t>(cluster.best_tier(gpus)); tier < kTiers; ++tier) {
    const Rate rate = speed.rate(job, type, gpus, static_cast<Tier>(tier));
    const double here = speed.locality(job, type, gpus, static_cast<Tier>(tier));
    if (rate.fixed == 0 || here <= computing) continue;
    computing = here;
    run_ms = static_cast<double>(workload.durations[job].ms) / rate.value();
  }
  bound.allocated_gpu_ms = run_ms * gpus;
  bound.computing_gpu_ms = bound.allocated_gpu_ms * computing;
}

}  // namespace

IdVector<JobId, JobBound> job_bounds(const Cluster& cluster, const Workload& workload,
                                     const Speed& speed, bool copies) {
  const Jobs& jobs = workload.jobs;
  const auto key_of = [&](JobId job) {
    return std::tuple(jobs.model[job], jobs.gpus[job], jobs.gpus_min[job], jobs.gpus_max[job],
                      std::string_view(workload.reference_types[job]));
  };
  std::map<decltype(key_of(JobId(0))), std::size_t> numbers;
  IdVector<JobId, std::size_t> kind_of(jobs.size());
  Kinds kinds;
  for (JobId job : ids<JobId>(jobs.size())) {
    const auto [found, is_new] = numbers.try_emplace(key_of(job), kinds.size());
    if (is_new) kinds.push_back(kind_of_job(cluster, jobs, job, speed));
    kind_of[job] = found->second;
    kinds[found->second].work_ms += static_cast<double>(workload.durations[job].ms);
  }
  const std::vector<double> at = prices(cluster, kinds);
  IdVector<JobId, JobBound> bounds(jobs.size());
  for (JobId job : ids<JobId>(jobs.size())) {
    const Kind& kind = kinds[kind_of[job]];
    if (kind.speed.fixed == 0) continue;  // it never runs
    const Duration work = workload.durations[job];
    bounds[job] = {.time = time_to_finish(reference_work(work), best_speed(cluster, kind, copies)),
                   .cluster_ms = static_cast<double>(work.ms) * least_cost(cluster, kind, at),
                   .mix_speed = kind.mix_speed};
    if (!copies) add_communication(cluster, workload, speed, job, bounds[job]);
  }
  return bounds;
}

BoundsSummary run_bounds(const JobTable& jobs, const IdVector<JobId, JobBound>& bounds,
                         Time first_arrival, std::int64_t gpus) {
  const auto alone_ms = [&](JobId job) {
    return static_cast<double>(jobs.work[job].ms) * jobs.gpus[job] / static_cast<double>(gpus);
  };
  double time_sum_ms = 0;
  std::vector<MachineJob> as_one_machine;
  Time end_min = first_arrival;
  for (JobId job : ids<JobId>(jobs.size())) {
    if (jobs.status[job] != JobStatus::kFinished) continue;
    const JobBound bound = bounds.has(job)
                               ? bounds[job]
                               : JobBound{.time = jobs.work[job], .cluster_ms = alone_ms(job)};
    time_sum_ms += static_cast<double>(bound.time.ms);
    as_one_machine.push_back(
        {.release_ms = static_cast<double>((jobs.submit[job] - first_arrival).ms),
         .size_ms = bound.cluster_ms});
    end_min = std::max(end_min, jobs.submit[job] + bound.time);
  }
  if (as_one_machine.empty()) return {};
  const double jct_sum_ms = std::max({time_sum_ms, least_flow_time_ms(as_one_machine),
                                      least_mean_busy_time_ms(as_one_machine) + time_sum_ms / 2});
  const auto finished = static_cast<double>(as_one_machine.size());
  return {.makespan_lower_s = std::max(least_makespan_ms(as_one_machine) / 1000.0,
                                       to_seconds(end_min - first_arrival)),
          .jct_avg_lower_s = jct_sum_ms / finished / 1000.0};
}

std::optional<double> least_communication(const JobTable& jobs,
                                          const IdVector<JobId, JobBound>& bounds) {
  double allocated = 0;
  double computing = 0;
  for (JobId job : ids<JobId>(jobs.size())) {
    if (jobs.status[job] != JobStatus::kFinished) continue;
    if (!bounds.has(job) || bounds[job].allocated_gpu_ms <= 0) return std::nullopt;
    allocated += bounds[job].allocated_gpu_ms;
    computing += bounds[job].computing_gpu_ms;
  }
  // A little less, because speeds are rounded.
  return std::max(0.0, 1 - computing / allocated - 1e-6);
}

}  // namespace fairlead
