// The cluster: nodes of GPUs in racks, one GPU type per node, as columns.
//
// Invariants (build_cluster() of cluster_build.h establishes them):
//  1. Nodes are numbered rack by rack: the nodes of rack r are rack_nodes(r), in input order.
//  2. A node has 1..kNodeGpusMax GPUs of one type. A host with several GPU types is several nodes.
//  3. GPU types are numbered by first appearance; at most kGpuTypesMax.
//  4. The racks below a switch are neighbours.
//
// A host is what has links of its own between all its GPUs: a server, or the many trays of an NVLink
// domain, each of them a node.
#pragma once

#include "fairlead/base/ids.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fairlead {

constexpr std::uint32_t kNodeGpusMax = 64;  // GPU indices of a node fit one 64-bit mask
constexpr std::uint32_t kGpuTypesMax = 32;  // a set of types fits one TypeMask

// A set of GPU types, one bit per GpuTypeId.
using TypeMask = std::uint32_t;
constexpr TypeMask kAllTypes = ~TypeMask{0};
constexpr TypeMask type_bit(GpuTypeId type) { return TypeMask{1} << type.row(); }

// GPUs of one node. A gang is a list of slices sorted by node, each node at most once; it runs
// whole or not at all.
//
// A job may hold several gangs that train copies of it (HadarE, arXiv 2503.10918). Copies share no
// node and are listed one after another, numbered by their first nodes.
struct Slice {
  NodeId node;
  std::uint16_t gpus = 0;
  std::uint16_t copy = 0;
  friend bool operator==(Slice, Slice) = default;
  // Without `copy`: no policy remembers the slices of copies.
  void fields(auto& archive) {
    archive(node, gpus);
    archive.expect(!node.is_none() && gpus > 0 && gpus <= kNodeGpusMax);
  }
};
using Gang = std::span<const Slice>;

// How many of that many GPUs of a node tasks of `task_gpus` GPUs can use. REQUIRES: task_gpus > 0.
constexpr std::uint32_t whole_tasks(std::uint32_t gpus, std::uint32_t task_gpus) {
  return task_gpus == 1 ? gpus : gpus - gpus % task_gpus;
}

// The GPUs' product in the name of a type: "H100" of "H100/pool=b".
constexpr std::string_view product_of_type(std::string_view type) {
  return type.substr(0, type.find('/'));
}

std::uint32_t gpus_of(Gang gang);
inline std::uint32_t copies_of(Gang held) { return held.empty() ? 0 : held.back().copy + 1U; }
// The first copy of those listed; the others follow from its end. Empty for nothing.
Gang first_copy(Gang held);

// How far apart the members of a gang are: the widest link they need.
enum class Tier : std::uint8_t {
  kPair,   // one GPU, or two of one node
  kNode,   // one host
  kRack,   // several hosts of one rack
  kSpine,  // several racks
};
constexpr std::size_t kTiers = 4;
std::string_view tier_name(Tier tier);

// Nodes begin..end-1.
struct NodeRange {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
};

// One-way bandwidth between the members of a gang at each tier, in Gbit/s.
struct Links {
  double pair_gbps = 1200;  // chosen: NVLink-class, 150 GB/s
  double node_gbps = 100;   // chosen: PCIe-class, 12.5 GB/s
  double rack_gbps = 100;   // chosen: 100 Gbit/s Ethernet
  double spine_gbps = 25;   // of one gang; chosen: 4:1 oversubscription
  double latency_us = 0;    // of one step between two members, at every tier
  // A rack's uplink carries what its hosts can send, divided by this; none: spine_gbps in all.
  std::optional<double> oversubscription{};
};

// What a node's own links are, where they are not the cluster's; 0: as Links says.
struct NodeLinks {
  double pair_gbps = 0;
  double node_gbps = 0;
};

// The network cards of a host. Each has nic_gbps; 0: Links::rack_gbps.
struct Nics {
  std::uint32_t count = 1;
  double nic_gbps = 0;
};

// What a switch can send upwards, all its gangs together: `gbps`; else what those below it can send,
// divided by `oversubscription`; else, for a rack what Links says, above racks all of it. 0: not said.
struct Uplink {
  double gbps = 0;
  double oversubscription = 0;
};

// A rack, or a switch above racks.
struct Switch {
  std::string name;
  SwitchId parent;  // none: at the top
  Uplink uplink;
};

// The widest link that `gang` needs, if its nodes are on these hosts and racks. O(slices).
// REQUIRES: gang is not empty.
Tier tier_of(Gang gang, const IdVector<NodeId, HostId>& hosts,
             const IdVector<NodeId, RackId>& racks);

struct Cluster {
  std::string name;
  Links links;
  // Levels of switches from the racks up, at least one. All racks are equally far from the top.
  std::vector<std::string> levels = {"rack"};

  IdVector<GpuTypeId, std::string> type_names;
  // The first type of the same product: "H100" and "H100/pool=b" are the same GPUs on nodes that differ
  // otherwise, so what is known of their speeds is known of both.
  IdVector<GpuTypeId, GpuTypeId> type_product;
  IdVector<GpuTypeId, std::uint32_t> type_gpus;           // GPUs of each type in the cluster
  IdVector<GpuTypeId, std::uint32_t> type_node_gpus_max;  // of the largest node of each type

  IdVector<NodeId, std::string> node_names;
  IdVector<NodeId, GpuTypeId> node_type;
  IdVector<NodeId, std::uint16_t> node_gpus;
  IdVector<NodeId, HostId> node_host;
  IdVector<NodeId, RackId> node_rack;
  IdVector<NodeId, NodeLinks> node_links;
  IdVector<HostId, Nics> host_nics;
  IdVector<HostId, std::uint32_t> host_gpus;
  IdVector<RackId, NodeRange> rack_nodes;
  IdVector<RackId, Switch> racks;         // their names may be empty
  IdVector<SwitchId, Switch> switches{};  // above racks
  std::uint32_t hosts = 0;
  std::uint32_t gpus = 0;           // in the whole cluster
  std::uint32_t node_gpus_max = 0;  // of the largest node

  std::size_t nodes() const { return node_type.size(); }
  // A type of which there is no node yet, as the next row. O(types).
  GpuTypeId add_type(std::string_view type);
  // A node that joins, as the next row. Its type, and its host unless it is a new one, are there
  // already. A rack is one range of nodes: one that is not the last cannot be joined, and what comes
  // later of it is to be called a rack of its own. O(1).
  struct NodeRow {
    std::string_view name;
    GpuTypeId type;
    HostId host;
    RackId rack;
    std::uint32_t gpus = 1;
  };
  bool can_add(const NodeRow& row) const;
  // REQUIRES: can_add(row).
  void add(const NodeRow& row);
  // The type of that name, ignoring case; none if the cluster has no such GPU.
  GpuTypeId type_named(std::string_view type) const;
  // GPUs of the type that tasks of `task_gpus` GPUs can use, each on one node. O(1) for tasks of one
  // GPU, else O(nodes). REQUIRES: task_gpus > 0.
  std::uint32_t room(GpuTypeId type, std::uint32_t task_gpus) const;
  Tier tier_of(Gang gang) const { return fairlead::tier_of(gang, node_host, node_rack); }
  // The best tier that any gang of `gpus` GPUs can have here. O(nodes).
  Tier best_tier(std::uint32_t gpus) const;
};

}  // namespace fairlead
