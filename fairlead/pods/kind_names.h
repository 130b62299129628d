// The names of types of nodes: the GPU product, and their difference if one product has several types:
// "H100", "H100/pool=b".
#pragma once

#include "fairlead/pods/pod_needs.h"

#include <set>
#include <string>
#include <vector>

namespace fairlead {

// Nodes that are equal for every gang.
struct NodeKind {
  std::string product;  // their common GPU type
  std::vector<const Node*> nodes;
  std::string name;
};

// Sets their names. No two names are equal, even if case is ignored.
void name_kinds(std::vector<NodeKind>& kinds, const std::set<PodNeeds>& asked);

}  // namespace fairlead
