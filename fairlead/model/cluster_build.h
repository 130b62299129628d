// Builds a cluster from descriptions of its nodes and switches in input order.
#pragma once

#include "fairlead/base/result.h"
#include "fairlead/model/cluster.h"

#include <cstdint>
#include <string>
#include <vector>

namespace fairlead {

// One node as input describes it.
struct NodeSpec {
  std::string name;      // empty: "n" and the node's number
  std::string gpu_type;  // "V100"
  std::uint32_t gpus = 0;
  std::string host;  // empty: a host of its own
  std::string rack;  // nodes with equal rack names share a rack
  NodeLinks links{};
  Nics nics{.count = 0};  // that this node adds to its host's; a host has at least one
};

// A switch as input describes it.
struct SwitchSpec {
  std::string name;
  std::string parent;  // empty: at the top
  Uplink uplink;
};

// The switches of a cluster. Racks that are not listed stand at the top.
struct FabricSpec {
  std::vector<std::string> levels = {"rack"};  // what switches are called, from the racks up
  std::vector<SwitchSpec> switches{};
};

// Numbers the nodes (rack by rack, and the racks of a switch together, otherwise in the order
// given). Errors: no node, a node without GPUs or with more than kNodeGpusMax, more than
// kGpuTypesMax types, an empty type name; a switch that occurs twice, a parent that is not listed
// before, a rack that has another number of switches above it than there are levels.
// O(nodes log nodes).
Result<Cluster> build_cluster(std::string name, Links links, const std::vector<NodeSpec>& nodes,
                              const FabricSpec& fabric = {});

}  // namespace fairlead
