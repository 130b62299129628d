#include "fairlead/trace/load.h"

#include <algorithm>
#include <cmath>

namespace fairlead {
namespace {

constexpr double kHourMs = 3'600'000;

double gpu_hours_of(const Workload& workload) {
  double gpu_hours = 0;
  for (const JobId job : ids<JobId>(workload.jobs.size())) {
    gpu_hours += static_cast<double>(workload.jobs.gpus[job]) *
                 static_cast<double>(workload.durations[job].ms) / kHourMs;
  }
  return gpu_hours;
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

}  // namespace fairlead
