// The gangs that an API server knows, as input of what_if() and the simulator.
#pragma once

#include "fairlead/forecast/cluster_now.h"
#include "fairlead/pods/census.h"

namespace fairlead {

// Error: no GPU can be used. O(present gangs x gangs).
Result<ClusterNow> kubernetes_now(const Census& census);

}  // namespace fairlead
