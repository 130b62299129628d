// The cluster: nodes of GPUs in racks, one GPU type per node, as columns.
//
// Invariants (build_cluster() of cluster_build.h establishes them):
//  1. Nodes are numbered rack by rack: the nodes of rack r are rack_nodes(r), in input order.
//  2. A node has 1..kNodeGpusMax GPUs of one type. A host with several GPU types is several nodes.
//  3. GPU types are numbered by first appearance; at most kGpuTypesMax.
//  4. The racks below a switch are neighbours.
//
// A host is a unit with its own links between all its GPUs: a server, or an NVLink domain of many trays, each of which
// is a node.
#pragma once

#include "fairlead/base/ids.h"
#include "fairlead/model/job_asks.h"

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
// A job may have several gangs that train copies of it (HadarE, arXiv 2503.10918). Copies share no node. They are
// listed one after another, numbered in the order of their first nodes.
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

// Returns how many of `gpus` GPUs of a node can be used by tasks of `task_gpus` GPUs. REQUIRES: task_gpus > 0.
constexpr std::uint32_t whole_tasks(std::uint32_t gpus, std::uint32_t task_gpus) {
  return task_gpus == 1 ? gpus : gpus - gpus % task_gpus;
}

// Returns the product in the name of a type: "H100" for "H100/pool=b".
constexpr std::string_view product_of_type(std::string_view type) {
  return type.substr(0, type.find('/'));
}

std::uint32_t gpus_of(Gang gang);
inline std::uint32_t copies_of(Gang gang) { return gang.empty() ? 0 : gang.back().copy + 1U; }
// Returns the first copy in the list; the other copies follow it. Empty if `gang` is empty.
Gang first_copy(Gang gang);

// The distance between the members of a gang: the widest link that they need.
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
  double spine_gbps = 25;   // for one gang; chosen: 4:1 oversubscription
  double latency_us = 0;    // per step between two members, at every tier
  // A rack's uplink has its hosts' total bandwidth divided by this; none: spine_gbps in total.
  std::optional<double> oversubscription{};
};

// The links inside a node that differ from the cluster's; 0: the value of Links.
struct NodeLinks {
  double pair_gbps = 0;
  double node_gbps = 0;
};

// The network cards of a host. Each has nic_gbps; 0: Links::rack_gbps.
struct Nics {
  std::uint32_t count = 1;
  double nic_gbps = 0;
};

// The bandwidth of a switch upwards, for all its gangs together: `gbps` if not 0. Otherwise the bandwidth of the units
// below it divided by `oversubscription`, if not 0. Otherwise the value of Links for a rack, and the whole bandwidth
// from below for a switch above racks.
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

// Returns the widest link that `gang` needs if its nodes are on these hosts and racks. O(slices).
// REQUIRES: gang is not empty.
Tier tier_of(Gang gang, const IdVector<NodeId, HostId>& hosts,
             const IdVector<NodeId, RackId>& racks);

struct Cluster {
  std::string name;
  Links links;
  // Levels of switches from the racks up, at least one. All racks are equally far from the top.
  std::vector<std::string> levels = {"rack"};

  IdVector<GpuTypeId, std::string> type_names;
  // The first type of the same product. "H100" and "H100/pool=b" are the same GPUs on nodes that differ otherwise, so
  // both share one known speed.
  IdVector<GpuTypeId, GpuTypeId> type_product;
  IdVector<GpuTypeId, std::uint32_t> type_gpus;           // GPUs of each type in the cluster
  IdVector<GpuTypeId, std::uint32_t> type_node_gpus_max;  // GPUs of the largest node of each type

  IdVector<NodeId, std::string> node_names;
  IdVector<NodeId, GpuTypeId> node_type;
  IdVector<NodeId, std::uint16_t> node_gpus;
  IdVector<NodeId, HostId> node_host;
  IdVector<NodeId, RackId> node_rack;
  IdVector<NodeId, NodeLinks> node_links;
  // CPU and memory of nodes, for their jobs. Ends with the last node that states some. Read has_of().
  IdVector<NodeId, CpuMemory> node_has;
  IdVector<HostId, Nics> host_nics;
  IdVector<HostId, std::uint32_t> host_gpus;
  IdVector<RackId, std::uint32_t> rack_gpus;
  IdVector<RackId, NodeRange> rack_nodes;
  IdVector<RackId, Switch> racks;         // names may be empty
  IdVector<SwitchId, Switch> switches{};  // above racks
  std::uint32_t hosts = 0;
  std::uint32_t gpus = 0;           // in the whole cluster
  std::uint32_t node_gpus_max = 0;  // GPUs of the largest node
  std::uint32_t host_gpus_max = 0;
  std::uint32_t rack_gpus_max = 0;

  std::size_t nodes() const { return node_type.size(); }
  CpuMemory has_of(NodeId node) const { return node_has.has(node) ? node_has[node] : CpuMemory(); }
  // Adds a type without nodes as the next row. O(types).
  GpuTypeId add_type(std::string_view type);
  // A joining node; it becomes the next row. Its type must exist, and its host must exist or be the next new one. A
  // rack is one range of nodes, so nodes can join only the last rack. Later nodes of another rack must be named as a
  // new rack. O(1).
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
  // Returns the type of that name, ignoring case; none if the cluster has no such GPU.
  GpuTypeId type_named(std::string_view type) const;
  // Returns the number of GPUs of the type that tasks of `task_gpus` GPUs can use, each task on one node. O(1) for
  // tasks of one GPU, else O(nodes). REQUIRES: task_gpus > 0.
  std::uint32_t room(GpuTypeId type, std::uint32_t task_gpus) const;
  Tier tier_of(Gang gang) const { return fairlead::tier_of(gang, node_host, node_rack); }
  // Returns the best tier that any gang of `gpus` GPUs can have here. O(1).
  Tier best_tier(std::uint32_t gpus) const;
};

}  // namespace fairlead
