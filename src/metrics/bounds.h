// Simple lower bounds: what each job needs at least on a cluster, whatever the policy does.
#pragma once

#include "metrics/metrics.h"
#include "model/cluster.h"
#include "model/speed.h"
#include "model/workload.h"

namespace fairlead {

// For each job the time at its best speed over all GPU types, gang sizes and tiers, and the least
// GPU time over the same. They are bounds because a gang is as fast as its slowest member and dead
// time only adds. Where a job may run as several `copies` at once, the time is that of all GPUs
// working for it, each as fast as a GPU of its type is in any gang of one type.
// O(jobs + distinct kinds of jobs x gang sizes x types).
IdVector<JobId, JobBound> job_bounds(const Cluster& cluster, const Workload& workload,
                                     const Speed& speed, bool copies);

}  // namespace fairlead
