// One machine that may be interrupted, as a relaxation of a cluster: no schedule of the cluster
// beats the best one of a machine that does everything as fast as all GPUs together could at best.
#pragma once

#include <span>

namespace fairlead {

struct MachineJob {
  double release_ms = 0;
  double size_ms = 0;  // of the whole machine's time, at least 0
};

// The least sum over all jobs of completion - release: that of shortest remaining processing time
// (Schrage 1968). O(jobs log jobs).
double least_flow_time_ms(std::span<const MachineJob> jobs);

// The earliest time at which all can be done; 0 for none. O(jobs log jobs).
double least_makespan_ms(std::span<const MachineJob> jobs);

}  // namespace fairlead
