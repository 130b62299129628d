// The present state of another scheduler's cluster, as input of what_if() and the simulator. kubernetes_now.h and
// slurm_now.h make it.
#pragma once

#include "fairlead/forecast/forecast.h"
#include "fairlead/model/cluster_build.h"

#include <optional>
#include <string>
#include <vector>

namespace fairlead {

struct ClusterNow {
  QueueNow queue;                 // jobs that want GPUs now; all arrive at once
  std::string name;               // the cluster's name
  std::vector<NodeSpec> nodes;    // with the usable GPUs
  std::optional<Trace> trace;     // trace of all jobs, from the first known one
  std::vector<std::string> said;  // omissions and assumptions, a line each
};

}  // namespace fairlead
