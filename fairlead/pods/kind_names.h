// What types of nodes are called: by their GPU product, and where one product has several types, by
// what tells them apart: "H100", "H100/pool=b".
#pragma once

#include "fairlead/pods/pod_needs.h"

#include <set>
#include <string>
#include <vector>

namespace fairlead {

// Nodes that no gang tells apart.
struct NodeKind {
  std::string product;  // the GPU type of all of them
  std::vector<const Node*> nodes;
  std::string name;
};

// Names them. No two have the same, even if letters that differ in case alone count as equal.
void name_kinds(std::vector<NodeKind>& kinds, const std::set<PodNeeds>& asked);

}  // namespace fairlead
