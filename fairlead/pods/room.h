// Checks that a gang's nodes have the requested resources other than GPUs: CPU, memory, ports, other devices.
#pragma once

#include "fairlead/pods/cluster_view.h"
#include "fairlead/pods/gang.h"

#include <functional>
#include <string>
#include <vector>

namespace fairlead {

// Returns the largest request of the gang's pods with GPUs, without the GPUs. The pods have one template, but an
// existing pod may request more than it, for example for an injected sidecar.
Resources asked_by_each(const PodGang& gang);

struct Room {
  bool is_there = true;
  bool may_come = false;  // true if there is room after the pods that are leaving
  std::string node{};     // node that lacks a resource
  std::string why{};      // "node n1 has too little cpu"
};

// Returns the room for the gang at `where`. `stays`: returns false for a pod that is about to leave that node.
// O(nodes of the gang x pods of a node).
Room room_for(const PodGang& gang, const std::vector<GangPlace>& where, const ClusterView& cluster,
              const std::function<bool(const Pod&, const std::string& node)>& stays);

// Returns true if the quota of the gang's ClusterQueue has room for it once pods that are leaving are gone, and not before.
// False if the gang is not Kueue's. O(nodes x pods of a node).
bool awaits_quota(const PodGang& gang, const ClusterView& cluster);

}  // namespace fairlead
