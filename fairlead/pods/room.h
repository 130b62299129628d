// Whether the pods of a gang have what they ask for on its nodes, beside GPUs: CPU, memory, ports, other devices.
#pragma once

#include "fairlead/pods/cluster_view.h"
#include "fairlead/pods/gang.h"

#include <functional>
#include <string>
#include <vector>

namespace fairlead {

struct Room {
  bool is_there = true;
  bool may_come = false;  // it is there once the pods that are about to go are gone
  std::string node{};     // that has too little
  std::string why{};      // "node n1 has too little cpu"
};

// Returns the room for the gang at `where`. `stays`: whether a pod on that node is not about to go.
// O(nodes of the gang x pods of a node).
Room room_for(const PodGang& gang, const std::vector<GangPlace>& where, const ClusterView& cluster,
              const std::function<bool(const Pod&, const std::string& node)>& stays);

}  // namespace fairlead
