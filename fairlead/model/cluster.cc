#include "fairlead/model/cluster.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <tuple>

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

// The switches above racks, by name, and what is said of racks.
class SwitchTree {
 public:
  // Listed from the top down.
  Status add(const SwitchSpec& spec, bool is_rack) {
    SwitchId parent;
    if (!spec.parent.empty()) {
      const auto found = numbers_.find(spec.parent);
      if (found == numbers_.end()) {
        return input_error("switch {}: its parent is not known: {}", spec.name, spec.parent);
      }
      parent = found->second;
    }
    const Switch row{spec.name, parent, spec.uplink};
    const bool is_new = is_rack ? racks_.try_emplace(spec.name, row).second
                                : numbers_.try_emplace(spec.name, SwitchId(rows_.size())).second;
    if (!is_new) return input_error("two switches have the same name: {}", spec.name);
    if (!is_rack) rows_.push_back(row);
    return {};
  }
  Switch rack(const std::string& name) const {
    const auto found = racks_.find(name);
    return found == racks_.end() ? Switch{name, {}, {}} : found->second;
  }
  // The rows above, from the top.
  std::vector<SwitchId> above(const Switch& rack) const {
    std::vector<SwitchId> path;
    for (SwitchId at = rack.parent; !at.is_none(); at = rows_[at].parent) path.push_back(at);
    std::ranges::reverse(path);
    return path;
  }
  const IdVector<SwitchId, Switch>& rows() const { return rows_; }

 private:
  IdVector<SwitchId, Switch> rows_;
  std::map<std::string, SwitchId> numbers_;
  std::map<std::string, Switch> racks_;
};

// Racks are those switches that nodes are in.
Result<SwitchTree> tree_of(const FabricSpec& fabric, const std::vector<NodeSpec>& nodes) {
  std::set<std::string_view> racks;
  for (const NodeSpec& node : nodes) racks.insert(node.rack);
  SwitchTree tree;
  for (const SwitchSpec& spec : fabric.switches) {
    if (Status status = tree.add(spec, racks.contains(spec.name)); !status) {
      return tl::unexpected(status.error());
    }
  }
  for (const std::string_view rack : racks) {
    const std::size_t above = tree.above(tree.rack(std::string(rack))).size();
    if (above + 1 != fabric.levels.size()) {
      return input_error("rack {} has {} switches above it, where {} levels are named", rack, above,
                         fabric.levels.size());
    }
  }
  return tree;
}

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
  if (!racks.has(row.rack)) racks.push_back({});
  const NodeId node = node_rack.push_back(row.rack);
  if (!rack_nodes.has(row.rack)) rack_nodes.push_back({node.row(), node.row()});
  rack_nodes[row.rack].end = node.row() + 1;
  hosts = std::max(hosts, row.host.row() + 1);
  type_gpus[row.type] += row.gpus;
  type_node_gpus_max[row.type] = std::max(type_node_gpus_max[row.type], row.gpus);
  gpus += row.gpus;
  node_gpus_max = std::max(node_gpus_max, row.gpus);
}

Result<Cluster> Cluster::build(std::string name, Links links, const std::vector<NodeSpec>& nodes,
                               const FabricSpec& fabric) {
  if (nodes.empty()) return input_error("cluster {}: it has no node", name);
  Cluster cluster;
  cluster.name = std::move(name);
  cluster.links = links;
  cluster.levels = fabric.levels;

  const Result<SwitchTree> tree = tree_of(fabric, nodes);
  if (!tree) return input_error("cluster {}: {}", cluster.name, tree.error().message);
  cluster.switches = tree->rows();
  Numbering<RackId> given;
  // By the switches above, then as given.
  std::vector<std::tuple<std::vector<SwitchId>, RackId, std::size_t>> order;
  order.reserve(nodes.size());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (Status status = check_node(nodes[i], i); !status) {
      return input_error("cluster {}: {}", cluster.name, status.error().message);
    }
    order.emplace_back(tree->above(tree->rack(nodes[i].rack)), given.of(nodes[i].rack), i);
  }
  std::ranges::sort(order);

  Numbering<RackId> numbers;
  Numbering<HostId> hosts;
  for (const auto& [above, rack, i] : order) {
    const NodeSpec& spec = nodes[i];
    GpuTypeId type = cluster.type_named(spec.gpu_type);
    if (type.is_none()) type = cluster.add_type(spec.gpu_type);
    const std::string number = fmt::format("n{}", cluster.nodes());
    // A host named in the input cannot collide with the private ones, which start with '\n'.
    const HostId host = hosts.of(spec.host.empty() ? "\n" + number : spec.host);
    const bool is_new_host = host.row() == cluster.hosts;
    cluster.add({.name = spec.name.empty() ? number : spec.name,
                 .type = type,
                 .host = host,
                 .rack = numbers.of(spec.rack),
                 .gpus = spec.gpus});
    cluster.node_links[NodeId(cluster.nodes() - 1)] = spec.links;
    cluster.racks[cluster.node_rack[NodeId(cluster.nodes() - 1)]] = tree->rack(spec.rack);
    Nics& nics = cluster.host_nics[host];
    if (spec.nics.count > 0)
      nics = {spec.nics.count + (is_new_host ? 0 : nics.count), spec.nics.nic_gbps};
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
