// The load that a workload offers to a cluster: the GPU time that its jobs ask for, gang x duration
// on the reference GPU type, per GPU time that the cluster has from the first to the last
// submission.
#pragma once

#include "fairlead/base/result.h"
#include "fairlead/model/workload.h"

#include <cstdint>

namespace fairlead {

// How long submissions take if they ask for `gpu_hours` at this load. REQUIRES: load and
// capacity_gpus are above 0.
double hours_at_load(double gpu_hours, double load, std::int64_t capacity_gpus);

// Stretches or squeezes the times between submissions so that the workload offers `load`; the first
// submission stays, and what came earlier never comes later. Errors: all jobs are submitted at
// once, so that no factor gives any load; or the last would be later than kMsMax. REQUIRES: there
// are jobs; load and capacity_gpus are above 0. O(jobs).
Status scale_to_load(Workload& workload, double load, std::int64_t capacity_gpus);

}  // namespace fairlead
