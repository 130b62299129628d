// The needs of each job on a cluster under any policy: lower bounds, and the value of its part of the GPUs; and the bounds
// of a run that follow from them.
#pragma once

#include "fairlead/metrics/job_table.h"
#include "fairlead/metrics/run_facts.h"
#include "fairlead/metrics/summary.h"
#include "fairlead/model/cluster.h"
#include "fairlead/model/speed.h"
#include "fairlead/model/workload.h"

#include <cstdint>
#include <optional>

namespace fairlead {

// For each job `time` is its time at the best speed over all GPU types, gang sizes and the tiers that a gang of that
// size can have here. It is a bound because a gang is as fast as its slowest member and overhead only adds. For a job
// that may run as several `copies` at once, all GPUs work for it, each as fast as a GPU of its type is in any gang.
//
// `cluster_ms` is the least fraction of the cluster's time that the job's work takes, in milliseconds of the whole
// cluster: each GPU type has a price, and the work costs at least its time on the cheapest type. So no schedule is
// better than one machine that all jobs share one after another (solve/single_machine.h). Any prices give a bound; the
// prices of the linear program with the least makespan give the largest bound of the makespan (ours).
//
// `mix_speed` is the mean over GPU types, weighted by their GPUs, of the speed of the requested gang on one type at its
// best tier; types on which it cannot run are left out. It is the speed of a job that gets its part of every type.
//
// `allocated_gpu_ms` and `computing_gpu_ms` describe the requested gang at its best tier, on a cluster of one GPU type.
// There the computing GPU time is the same at every tier, so the total loss is least if each job loses least.
//
// The bounds of time admit copies, elastic gangs and tables that are not monotone.
// O(jobs + distinct kinds of jobs x gang sizes x types + the linear program of the kinds).
IdVector<JobId, JobBound> job_bounds(const Cluster& cluster, const Workload& workload,
                                     const Speed& speed, bool copies);

// Returns the lower bounds of the makespan and the mean JCT, over the jobs that have finished; empty without one. A job
// without a bound has the speed 1 of the gang asked for. `gpus`: installed in the cluster. O(jobs log jobs).
BoundsSummary run_bounds(const JobTable& jobs, const IdVector<JobId, JobBound>& bounds,
                         Time first_arrival, std::int64_t gpus);

// Returns the part of their GPU time that all finished jobs lose to communication at their best places. None: it is not
// known for a job. REQUIRES: a job has finished. O(jobs).
std::optional<double> least_communication(const JobTable& jobs,
                                          const IdVector<JobId, JobBound>& bounds);

}  // namespace fairlead
