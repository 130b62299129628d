#include "fairlead/trace/load.h"

#include "fairlead/model/type_sets.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace fairlead {
namespace {

constexpr double kHourMs = 3'600'000;

double gpu_hours_of(const Workload& workload, JobId job) {
  return static_cast<double>(workload.jobs.gpus[job]) *
         static_cast<double>(workload.durations[job].ms) / kHourMs;
}

double gpu_hours_of(const Workload& workload) {
  double gpu_hours = 0;
  for (const JobId job : ids<JobId>(workload.jobs.size())) gpu_hours += gpu_hours_of(workload, job);
  return gpu_hours;
}

// Returns whether the trace spans ten mean durations or more.
bool has_load(const Workload& workload) {
  constexpr double kDurations = 10;
  if (workload.jobs.size() == 0) return false;
  const auto [first, last] = std::ranges::minmax(workload.jobs.arrival);
  double durations_ms = 0;
  for (const Duration duration : workload.durations)
    durations_ms += static_cast<double>(duration.ms);
  const double mean_ms = durations_ms / static_cast<double>(workload.jobs.size());
  return static_cast<double>((last - first).ms) >= kDurations * mean_ms;
}

}  // namespace

double hours_at_load(double gpu_hours, double load, std::int64_t capacity_gpus) {
  FL_CHECK(gpu_hours >= 0 && load > 0 && capacity_gpus > 0, "{} GPU-hours at load {} on {} GPUs",
           gpu_hours, load, capacity_gpus);
  return gpu_hours / (load * static_cast<double>(capacity_gpus));
}

Status scale_to_load(Workload& workload, double load, std::int64_t capacity_gpus) {
  IdVector<JobId, Time>& arrivals = workload.jobs.arrival;
  FL_CHECK(!arrivals.empty(), "no job to scale");
  const auto [first, last] = std::ranges::minmax(arrivals);
  const auto span_ms = static_cast<double>((last - first).ms);
  if (span_ms == 0) {
    return input_error(
        "all jobs are submitted at the same time, so no load can be had from them: "
        "{}",
        load);
  }
  const double wanted_ms = kHourMs * hours_at_load(gpu_hours_of(workload), load, capacity_gpus);
  if (!(static_cast<double>(first.ms) + wanted_ms <= static_cast<double>(kMsMax))) {
    return input_error("the submissions would take more than 100 years; raise the load: {}", load);
  }
  for (Time& arrival : arrivals) {
    const auto since_ms = static_cast<double>((arrival - first).ms);
    arrival = first + Duration{std::llround(since_ms / span_ms * wanted_ms)};
  }
  // Recorded starts are not valid for another load.
  for (Logged& logged : workload.jobs.logged) logged.start = Time::never();
  return {};
}

std::string overload_text(const Workload& workload, const Cluster& cluster) {
  if (!has_load(workload)) return {};
  const auto [first, last] = std::ranges::minmax(workload.jobs.arrival);
  const double span_h = static_cast<double>((last - first).ms) / kHourMs;
  std::map<TypeMask, double> asked;  // GPU hours, by the types that may give them
  for (const JobId job : ids<JobId>(workload.jobs.size())) {
    const auto named = workload.runs_on.find(job);
    asked[named == workload.runs_on.end() ? kAllTypes : types_named(cluster, named->second)] +=
        gpu_hours_of(workload, job);
  }
  const auto load = [&](TypeMask types) {
    double gpus = 0;
    for (const GpuTypeId type : ids<GpuTypeId>(cluster.type_names.size())) {
      if ((types & type_bit(type)) != 0) gpus += cluster.type_gpus[type];
    }
    double gpu_hours = 0;
    for (const auto& [within, hours] : asked) {
      if ((within & types) == within) gpu_hours += hours;
    }
    return gpus > 0 ? gpu_hours / (gpus * span_h) : 0;
  };
  TypeMask worst = kAllTypes;
  for (const auto& [types, hours] : asked) {
    if (load(types) > load(worst)) worst = types;
  }
  if (load(worst) <= 1) return {};
  constexpr std::string_view kMore =
      "times the GPU time there is from the first to the last submission";
  if (worst == kAllTypes) return fmt::format("the jobs ask for {:.2f} {}", load(worst), kMore);
  return fmt::format("the jobs ask for {:.2f} {}; those for {} alone for {:.2f} times",
                     load(kAllTypes), kMore, names_of(cluster, worst, " or "), load(worst));
}

UnplacedJobs unplaced_jobs(const Workload& workload, const Cluster& cluster) {
  UnplacedJobs unplaced;
  const double all = gpu_hours_of(workload);
  if (cluster.type_names.size() < 2 || all <= 0) return unplaced;
  for (const JobId job : ids<JobId>(workload.jobs.size())) {
    if (workload.runs_on.contains(job)) continue;
    const double part = gpu_hours_of(workload, job) / all;
    ++unplaced.jobs;
    unplaced.gpu_time += part;
    if (types_of_product(cluster, workload.reference_types[job]) != 0) unplaced.recorded += part;
  }
  return unplaced;
}

}  // namespace fairlead
