// Tasks of a gang with pods of different sizes.
//
// The engine places tasks of one size: that of the largest pod. A smaller pod takes a share of a task: a half, a quarter and
// so on, the smallest that has its GPUs. Pods may share a task. GPUs of a task that no pod asks for are idle, and
// count as the gang's.
#pragma once

#include "fairlead/pods/pod_needs.h"

#include <cstdint>
#include <vector>

namespace fairlead {

// Pods of a gang that are alike.
struct AlikePods {
  std::uint32_t pods = 1;
  std::uint32_t gpus = 1;  // GPUs of one pod
  PodNeeds needs;          // needs of one pod
};

struct GangTasks {
  std::uint32_t tasks = 1;
  std::uint32_t task_gpus = 1;  // GPUs of one task
  PodNeeds needs;               // needs that suffice for each
  Resources requests;           // of all pods together
};

// Returns the GPUs of a task that a pod takes. REQUIRES: gpus and task_gpus are at least 1.
std::uint32_t share_of_task(std::uint32_t gpus, std::uint32_t task_gpus);

// Returns the tasks of a gang with those pods, which have GPUs. O(pods). REQUIRES: pods is not empty.
GangTasks tasks_of(std::vector<AlikePods> pods);

}  // namespace fairlead
