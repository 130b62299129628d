// The CPU and memory of a trace and of a cluster as limits on tasks (model/task_limits.h).
//
// A job states the CPU and memory of the gang that it asks for. Each of its tasks needs its part of them, also if the
// job gets a larger or smaller gang, or has several copies. A node without a stated amount does not limit, and a job
// without one needs none.
#pragma once

#include "fairlead/model/task_limits.h"
#include "fairlead/model/workload.h"

#include <cstdint>

namespace fairlead {

struct StatedResources {
  IdVector<NodeId, CpuMemory> nodes;
  IdVector<JobId, CpuMemory>
      tasks;  // needs of each task of a job; ends with the last job that states some
};

// Returns the amounts that count: those that both a node and a job state. Empty if there are none. O(nodes + jobs).
StatedResources stated_resources(const Cluster& cluster, const Workload& workload);
// Returns empty limits if nothing limits. O(nodes + jobs x log kinds).
TaskLimits cpu_limits(const StatedResources& stated);

// Returns the part of an amount that one of the job's tasks needs: rounded down, so that a gang always fits where its
// whole amount does, but at least 1 of an amount.
constexpr std::int64_t part_of_task(Thousandths whole, std::int64_t gpus, std::int64_t task_gpus) {
  if (whole.value == 0) return 0;
  const std::int64_t part = whole.value * task_gpus / gpus;
  return part > 0 ? part : 1;
}

}  // namespace fairlead
