// Offered load: the GPU time that a workload requests, gang x duration on the reference GPU type,
// divided by the GPU time that the cluster has from the first to the last submission.
#pragma once

#include "fairlead/base/result.h"
#include "fairlead/model/cluster.h"
#include "fairlead/model/workload.h"

#include <cstdint>
#include <string>

namespace fairlead {

// The time from the first to the last submission if the jobs request `gpu_hours` at this load.
// REQUIRES: load and capacity_gpus are above 0.
double hours_at_load(double gpu_hours, double load, std::int64_t capacity_gpus);

// Rescales interarrival times to the offered load `load`; keeps the time of the first submission and the order of
// submissions. Errors: all jobs are submitted at once, so that no factor gives any load; or the last would be later
// than kMsMax. REQUIRES: there are jobs; load and capacity_gpus are above 0. O(jobs).
Status scale_to_load(Workload& workload, double load, std::int64_t capacity_gpus);

// "the jobs ask for 2.3 times the GPU time there is, those for h100 for 3.1 times": if the offered load of all jobs, or of
// the jobs for some types alone, is above 1. Empty if not, or if the trace is too short to have a load: it spans
// less than ten mean durations, so that it hardly has a steady state. O(jobs x types).
std::string overload_text(const Workload& workload, const Cluster& cluster);

// Jobs of which nothing states where they may run, on a cluster of several GPU types.
struct UnplacedJobs {
  std::int64_t jobs = 0;
  double gpu_time = 0;  // their part of the GPU time of all jobs
  double recorded = 0;  // the part of jobs whose GPU type is recorded: they may stay on it
};
UnplacedJobs unplaced_jobs(const Workload& workload, const Cluster& cluster);

}  // namespace fairlead
