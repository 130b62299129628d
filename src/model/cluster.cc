#include "fairlead/model/cluster.h"

#include <algorithm>
#include <cctype>
#include <map>

namespace fairlead {
namespace {

bool same_ignoring_case(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](char x, char y) {
    return std::tolower(static_cast<unsigned char>(x)) ==
           std::tolower(static_cast<unsigned char>(y));
  });
}

// Numbers names by first appearance.
template <class IdType>
class Numbering {
 public:
  IdType of(const std::string& name) {
    return numbers_.try_emplace(name, IdType(numbers_.size())).first->second;
  }
  std::size_t size() const { return numbers_.size(); }

 private:
  std::map<std::string, IdType> numbers_;
};

Status check_node(const NodeSpec& node, std::size_t number) {
  if (node.gpu_type.empty()) return input_error("node {}: the GPU type is empty", number);
  if (node.gpus == 0) return input_error("node {}: it has no GPU", number);
  if (node.gpus > kNodeGpusMax) {
    return input_error("node {}: a node has at most {} GPUs: {}", number, kNodeGpusMax, node.gpus);
  }
  return {};
}

}  // namespace

std::uint32_t gpus_of(Gang gang) {
  std::uint32_t gpus = 0;
  for (Slice slice : gang) gpus += slice.gpus;
  return gpus;
}

Gang first_copy(Gang held) {
  std::size_t slices = 0;
  while (slices < held.size() && held[slices].copy == held[0].copy) ++slices;
  return held.first(slices);
}

std::string_view tier_name(Tier tier) {
  constexpr std::string_view kNames[kTiers] = {"pair", "node", "rack", "spine"};
  FL_DCHECK(static_cast<std::size_t>(tier) < kTiers);
  return kNames[static_cast<std::size_t>(tier)];
}

GpuTypeId Cluster::type_named(std::string_view type) const {
  for (GpuTypeId id : ids<GpuTypeId>(type_names.size())) {
    if (same_ignoring_case(type_names[id], type)) return id;
  }
  return GpuTypeId::none();
}

Tier tier_of(Gang gang, const IdVector<NodeId, HostId>& hosts,
             const IdVector<NodeId, RackId>& racks) {
  FL_CHECK(!gang.empty());
  FL_DCHECK(std::ranges::all_of(gang, [&](Slice slice) { return hosts.has(slice.node); }));
  if (gang.size() == 1) return gang[0].gpus <= 2 ? Tier::kPair : Tier::kNode;
  Tier tier = Tier::kNode;
  for (Slice slice : gang.subspan(1)) {
    if (racks[slice.node] != racks[gang[0].node]) return Tier::kSpine;
    if (hosts[slice.node] != hosts[gang[0].node]) tier = Tier::kRack;
  }
  return tier;
}

Tier Cluster::best_tier(std::uint32_t wanted) const {
  IdVector<HostId, std::uint32_t> on_host(hosts, 0);
  IdVector<RackId, std::uint32_t> in_rack(rack_nodes.size(), 0);
  for (NodeId node : ids<NodeId>(nodes())) {
    on_host[node_host[node]] += node_gpus[node];
    in_rack[node_rack[node]] += node_gpus[node];
  }
  if (wanted <= 2 && node_gpus_max >= wanted) return Tier::kPair;
  const auto fits = [wanted](std::uint32_t room) { return room >= wanted; };
  if (std::ranges::any_of(on_host, fits)) return Tier::kNode;
  if (std::ranges::any_of(in_rack, fits)) return Tier::kRack;
  return Tier::kSpine;
}

bool Cluster::can_add(const NodeRow& row) const {
  const std::size_t racks = rack_nodes.size();
  return type_names.has(row.type) && row.host.row() <= hosts && row.gpus >= 1 &&
         row.gpus <= kNodeGpusMax && (row.rack.row() == racks || row.rack.row() + 1 == racks);
}

void Cluster::add(const NodeRow& row) {
  FL_CHECK(can_add(row), "node {} of type {}, host {}, rack {}", row.name, row.type.row(),
           row.host.row(), row.rack.row());
  node_names.push_back(std::string(row.name));
  node_type.push_back(row.type);
  node_gpus.push_back(static_cast<std::uint16_t>(row.gpus));
  node_host.push_back(row.host);
  const NodeId node = node_rack.push_back(row.rack);
  if (!rack_nodes.has(row.rack)) rack_nodes.push_back({node.row(), node.row()});
  rack_nodes[row.rack].end = node.row() + 1;
  hosts = std::max(hosts, row.host.row() + 1);
  type_gpus[row.type] += row.gpus;
  type_node_gpus_max[row.type] = std::max(type_node_gpus_max[row.type], row.gpus);
  gpus += row.gpus;
  node_gpus_max = std::max(node_gpus_max, row.gpus);
}

Result<Cluster> Cluster::build(std::string name, Links links, const std::vector<NodeSpec>& nodes) {
  if (nodes.empty()) return input_error("cluster {}: it has no node", name);
  Cluster cluster;
  cluster.name = std::move(name);
  cluster.links = links;

  Numbering<RackId> racks;
  std::vector<RackId> rack_of;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (Status status = check_node(nodes[i], i); !status) {
      return input_error("cluster {}: {}", cluster.name, status.error().message);
    }
    rack_of.push_back(racks.of(nodes[i].rack));
  }
  std::vector<std::size_t> order(nodes.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return rack_of[i]; });

  Numbering<HostId> hosts;
  for (std::size_t i : order) {
    const NodeSpec& spec = nodes[i];
    GpuTypeId type = cluster.type_named(spec.gpu_type);
    if (type.is_none()) {
      type = cluster.type_names.push_back(spec.gpu_type);
      cluster.type_gpus.push_back(0);
      cluster.type_node_gpus_max.push_back(0);
    }
    const std::string number = fmt::format("n{}", cluster.nodes());
    // A host named in the input cannot collide with the private ones, which start with '\n'.
    cluster.add({.name = spec.name.empty() ? number : spec.name,
                 .type = type,
                 .host = hosts.of(spec.host.empty() ? "\n" + number : spec.host),
                 .rack = rack_of[i],
                 .gpus = spec.gpus});
  }
  FL_CHECK(cluster.hosts == hosts.size(), "{} hosts of {}", cluster.hosts, hosts.size());
  if (cluster.type_names.size() > kGpuTypesMax) {
    return input_error("cluster {}: at most {} GPU types: {}", cluster.name, kGpuTypesMax,
                       cluster.type_names.size());
  }
  FL_CHECK(cluster.nodes() == nodes.size() && cluster.hosts <= nodes.size());
  return cluster;
}

}  // namespace fairlead
