// One machine with preemption: a relaxation of a cluster. The machine does everything as fast as
// all GPUs together could at best, so no schedule of the cluster beats its best schedule.
#pragma once

#include <span>

namespace fairlead {

struct MachineJob {
  double release_ms = 0;
  double size_ms = 0;  // time of the whole machine, at least 0
};

// Returns the least sum over all jobs of completion - release: the schedule is shortest remaining
// processing time (Schrage 1968). O(jobs log jobs).
double least_flow_time_ms(std::span<const MachineJob> jobs);

// Returns the least sum over all jobs of mean busy time - release. The mean busy time of a job is
// the mean of the times at which its work is done, with equal weights for equal parts. The schedule
// is preemptive smallest size first (Goemans, Queyranne, Schulz, Skutella and Wang 2002). A job
// with bounded speed, which takes at least p alone, completes p / 2 after its mean busy time or
// later: its progress is never steeper than 1 / p. O(jobs log jobs).
double least_mean_busy_time_ms(std::span<const MachineJob> jobs);

// Returns the earliest time at which all can be done; 0 for none. O(jobs log jobs).
double least_makespan_ms(std::span<const MachineJob> jobs);

}  // namespace fairlead
