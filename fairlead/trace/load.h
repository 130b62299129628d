// Offered load: the GPU time that a workload requests, gang x duration on the reference GPU type,
// divided by the GPU time that the cluster has from the first to the last submission.
#pragma once

#include "fairlead/base/result.h"
#include "fairlead/model/workload.h"

#include <cstdint>

namespace fairlead {

// The time from the first to the last submission if the jobs request `gpu_hours` at this load.
// REQUIRES: load and capacity_gpus are above 0.
double hours_at_load(double gpu_hours, double load, std::int64_t capacity_gpus);

// Rescales interarrival times to the offered load `load`; keeps the time of the first submission and the order of
// submissions. Errors: all jobs are submitted at once, so that no factor gives any load; or the last would be later
// than kMsMax. REQUIRES: there are jobs; load and capacity_gpus are above 0. O(jobs).
Status scale_to_load(Workload& workload, double load, std::int64_t capacity_gpus);

}  // namespace fairlead
