// The volumes of a gang: why they keep its pods from running, the nodes that they leave, and the requests before its pods
// are bound. All or none: no pod is bound before the claims of all are.
#pragma once

#include "fairlead/pods/cluster_view.h"
#include "fairlead/pods/gang.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace fairlead {

// Returns true if a pod of the gang with GPUs uses a claim.
bool has_claims(const PodGang& gang);
// Returns why the gang must wait because of its volumes, on whatever nodes: "claim data does not exist"; empty: it need
// not. O(pods x nodes x claims x free volumes).
std::string volume_objection(const PodGang& gang, const ClusterView& cluster);
// Returns the nodes on which the volumes of the gang let pods of it run, with the most pods there; the most may be too
// many if only some pods share a node. The same time.
std::map<std::string, std::uint32_t> volume_places(const PodGang& gang, const ClusterView& cluster);

// The calls of a gang, of which bindings have to wait for volumes.
struct VolumeActs {
  std::vector<GangAct> acts{};
  std::string node{};  // a node of a binding that cannot have the volumes of its pod; empty: none
};
// Puts requests for volumes in the place of bindings that need them. The bindings of pods without GPUs wait for their own
// volumes alone.
VolumeActs with_volumes(const PodGang& gang, const ClusterView& cluster, std::vector<GangAct> acts);

}  // namespace fairlead
