// Builds a cluster from descriptions of its nodes and switches in input order.
#pragma once

#include "fairlead/base/result.h"
#include "fairlead/model/cluster.h"

#include <cstdint>
#include <string>
#include <vector>

namespace fairlead {

// The description of a node in the input.
struct NodeSpec {
  std::string name;      // empty: "n" and the node's number
  std::string gpu_type;  // "V100"
  std::uint32_t gpus = 0;
  std::string host;  // empty: a host of its own
  std::string rack;  // nodes with equal rack names share a rack
  NodeLinks links{};
  Nics nics{.count = 0};  // the node's part of its host's cards; a host has at least one
  CpuMemory has{};        // the node's part of its host
};

// The description of a switch in the input.
struct SwitchSpec {
  std::string name;
  std::string parent;  // empty: at the top
  Uplink uplink;
};

// The switches of a cluster. Racks that are not listed stand at the top.
struct FabricSpec {
  std::vector<std::string> levels = {"rack"};  // names of the levels of switches, from the racks up
  std::vector<SwitchSpec> switches{};
};

// Builds the cluster and numbers its nodes: rack by rack, the racks of a switch together, otherwise in input order.
// Errors: no node; a node without GPUs or with more than kNodeGpusMax; more than kGpuTypesMax types; an empty type
// name; a switch that occurs twice; a parent that is not listed before its child; a rack with a number of switches
// above it that differs from the number of levels. O(nodes log nodes).
Result<Cluster> build_cluster(std::string name, Links links, const std::vector<NodeSpec>& nodes,
                              const FabricSpec& fabric = {});

// The description of a whole cluster.
struct ClusterSpec {
  std::string name;
  Links links{};
  std::vector<NodeSpec> nodes{};
  FabricSpec fabric{};
};
// Returns a description from which build_cluster makes a cluster with the same nodes in the same order. Racks without
// names get "r" and their number. O(nodes).
ClusterSpec spec_of(const Cluster& cluster);

}  // namespace fairlead
