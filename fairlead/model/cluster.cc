#include "fairlead/model/cluster.h"

#include "fairlead/base/check.h"

#include <algorithm>
#include <cctype>

namespace fairlead {
namespace {

bool same_ignoring_case(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](char x, char y) {
    return std::tolower(static_cast<unsigned char>(x)) ==
           std::tolower(static_cast<unsigned char>(y));
  });
}

}  // namespace

std::uint32_t gpus_of(Gang gang) {
  std::uint32_t gpus = 0;
  for (Slice slice : gang) gpus += slice.gpus;
  return gpus;
}

Gang first_copy(Gang gang) {
  std::size_t slices = 0;
  while (slices < gang.size() && gang[slices].copy == gang[0].copy) ++slices;
  return gang.first(slices);
}

std::string_view tier_name(Tier tier) {
  constexpr std::string_view kNames[kTiers] = {"pair", "node", "rack", "spine"};
  FL_DCHECK(static_cast<std::size_t>(tier) < kTiers);
  return kNames[static_cast<std::size_t>(tier)];
}

GpuTypeId Cluster::add_type(std::string_view type) {
  GpuTypeId product(type_names.size());
  for (GpuTypeId id : ids<GpuTypeId>(type_names.size())) {
    if (same_ignoring_case(product_of_type(type_names[id]), product_of_type(type))) {
      product = type_product[id];
      break;
    }
  }
  type_product.push_back(product);
  type_gpus.push_back(0);
  type_node_gpus_max.push_back(0);
  return type_names.push_back(std::string(type));
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

std::uint32_t Cluster::room(GpuTypeId type, std::uint32_t task_gpus) const {
  if (task_gpus == 1) return type_gpus[type];
  std::uint32_t gpus_usable = 0;
  for (NodeId node : ids<NodeId>(nodes())) {
    if (node_type[node] == type) gpus_usable += whole_tasks(node_gpus[node], task_gpus);
  }
  return gpus_usable;
}

Tier Cluster::best_tier(std::uint32_t wanted) const {
  if (wanted <= 2 && wanted <= node_gpus_max) return Tier::kPair;
  if (wanted <= host_gpus_max) return Tier::kNode;
  if (wanted <= rack_gpus_max) return Tier::kRack;
  return Tier::kSpine;
}

bool Cluster::can_add(const NodeRow& row) const {
  const std::size_t count = rack_nodes.size();
  return type_names.has(row.type) && row.host.row() <= hosts && row.gpus >= 1 &&
         row.gpus <= kNodeGpusMax && (row.rack.row() == count || row.rack.row() + 1 == count);
}

void Cluster::add(const NodeRow& row) {
  FL_CHECK(can_add(row), "node {} of type {}, host {}, rack {}", row.name, row.type.row(),
           row.host.row(), row.rack.row());
  node_names.push_back(std::string(row.name));
  node_type.push_back(row.type);
  node_gpus.push_back(static_cast<std::uint16_t>(row.gpus));
  node_host.push_back(row.host);
  node_links.push_back({});
  host_nics.grow_to(row.host);
  host_gpus.grow_to(row.host) += row.gpus;
  rack_gpus.grow_to(row.rack) += row.gpus;
  if (!racks.has(row.rack)) racks.push_back({});
  const NodeId node = node_rack.push_back(row.rack);
  if (!rack_nodes.has(row.rack)) rack_nodes.push_back({node.row(), node.row()});
  rack_nodes[row.rack].end = node.row() + 1;
  hosts = std::max(hosts, row.host.row() + 1);
  type_gpus[row.type] += row.gpus;
  type_node_gpus_max[row.type] = std::max(type_node_gpus_max[row.type], row.gpus);
  gpus += row.gpus;
  node_gpus_max = std::max(node_gpus_max, row.gpus);
  host_gpus_max = std::max(host_gpus_max, host_gpus[row.host]);
  rack_gpus_max = std::max(rack_gpus_max, rack_gpus[row.rack]);
}

}  // namespace fairlead
