#include "fairlead/model/cluster_build.h"

#include "fairlead/base/check.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

namespace fairlead {
namespace {

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

// The switches above racks, by name, and the described racks.
class SwitchTree {
 public:
  // Adds a switch. Switches are listed from the top down.
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
  // Returns the rows of the switches above the rack, from the top.
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

// Builds the tree. Racks are the switches that nodes are in.
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
      return input_error("rack {} has {} switches above it, but {} levels are named", rack, above,
                         fabric.levels.size());
    }
  }
  return tree;
}

Status check_node(const NodeSpec& node, std::size_t number) {
  if (node.gpu_type.empty()) return input_error("node {}: the GPU type is empty", number);
  if (node.gpus == 0) return input_error("node {}: no GPUs", number);
  if (node.gpus > kNodeGpusMax) {
    return input_error("node {}: a node has at most {} GPUs: {}", number, kNodeGpusMax, node.gpus);
  }
  return {};
}

// Sets the links and the stated amounts of the node that was added last.
void describe_last(const NodeSpec& spec, Cluster& cluster) {
  const NodeId node(cluster.nodes() - 1);
  cluster.node_links[node] = spec.links;
  if (spec.has.is_stated()) cluster.node_has.grow_to(node) = spec.has;
}

}  // namespace

Result<Cluster> build_cluster(std::string name, Links links, const std::vector<NodeSpec>& nodes,
                              const FabricSpec& fabric) {
  if (nodes.empty()) return input_error("cluster {}: no nodes", name);
  Cluster cluster;
  cluster.name = std::move(name);
  cluster.links = links;
  cluster.levels = fabric.levels;

  const Result<SwitchTree> tree = tree_of(fabric, nodes);
  if (!tree) return input_error("cluster {}: {}", cluster.name, tree.error().message);
  cluster.switches = tree->rows();
  Numbering<RackId> given;
  // Sorted by the switches above, then in input order.
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
    describe_last(spec, cluster);
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

ClusterSpec spec_of(const Cluster& cluster) {
  ClusterSpec spec{
      .name = cluster.name, .links = cluster.links, .fabric = {.levels = cluster.levels}};
  const auto parent_of = [&](const Switch& below) {
    return below.parent.is_none() ? std::string() : cluster.switches[below.parent].name;
  };
  const auto name_of = [&](RackId rack) {
    const std::string& name = cluster.racks[rack].name;
    return name.empty() ? fmt::format("r{}", rack.row()) : name;
  };
  for (const Switch& above : cluster.switches)
    spec.fabric.switches.push_back({above.name, parent_of(above), above.uplink});
  for (const RackId rack : ids<RackId>(cluster.racks.size())) {
    const Switch& row = cluster.racks[rack];
    spec.fabric.switches.push_back({name_of(rack), parent_of(row), row.uplink});
  }
  std::set<HostId> described;  // hosts with cards in the description
  for (const NodeId node : ids<NodeId>(cluster.nodes())) {
    const HostId host = cluster.node_host[node];
    NodeSpec one{.name = cluster.node_names[node],
                 .gpu_type = cluster.type_names[cluster.node_type[node]],
                 .gpus = cluster.node_gpus[node],
                 .host = fmt::format("h{}", host.row()),
                 .rack = name_of(cluster.node_rack[node]),
                 .links = cluster.node_links[node],
                 .has = cluster.has_of(node)};
    if (described.insert(host).second) one.nics = cluster.host_nics[host];
    spec.nodes.push_back(std::move(one));
  }
  return spec;
}

}  // namespace fairlead
