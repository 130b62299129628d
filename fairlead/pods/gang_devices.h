// Devices for the pods of a gang that claim their GPUs: before any pod is bound, the claims of all have devices.
#pragma once

#include "fairlead/pods/cluster_view.h"
#include "fairlead/pods/gang.h"

#include <vector>

namespace fairlead {

// Returns the acts with the writes to claims that their bindings need first. Until all are made, no pod with GPUs is bound.
// O(pods x devices of a node).
std::vector<GangAct> with_devices(const PodGang& gang, const ClusterView& cluster,
                                  std::vector<GangAct> acts);

}  // namespace fairlead
