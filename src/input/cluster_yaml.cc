// Cluster YAML; the schema is in cluster_file.h.

#include "fairlead/input/cluster_file.h"
#include "fairlead/input/yaml_reader.h"

#include <set>

namespace fairlead {
namespace {

constexpr IntegerBounds kCountBounds = {1, kNodesMax};
constexpr IntegerBounds kGpusBounds = {1, kNodeGpusMax};
constexpr RealBounds kGbpsBounds = {1e-6, 1e6};
constexpr RealBounds kLatencyBounds = {0, 1e6};
constexpr RealBounds kOversubscriptionBounds = {1e-3, 1e3};

// `name`, numbered if there are several such things.
std::string numbered(std::string_view name, std::int64_t number, std::int64_t count) {
  return count == 1 ? std::string(name) : fmt::format("{}-{}", name, number);
}

Status read_integer(const YamlNode& map, std::string_view key, IntegerBounds bounds,
                    std::int64_t& value) {
  if (const auto node = map.find(key)) {
    FL_TRY_ASSIGN(number, node->integer(bounds));
    value = number;
  }
  return {};
}

Status read_text(const YamlNode& map, std::string_view key, std::string& value) {
  if (const auto node = map.find(key)) {
    FL_TRY_ASSIGN(text, node->text());
    value = std::move(text);
  }
  return {};
}

Result<Links> read_links(const YamlNode& map) {
  Links links;
  const std::pair<std::string_view, double*> fields[] = {{"pair_gbps", &links.pair_gbps},
                                                         {"node_gbps", &links.node_gbps},
                                                         {"rack_gbps", &links.rack_gbps},
                                                         {"spine_gbps", &links.spine_gbps}};
  FL_TRY(map.expect_keys(
      {"pair_gbps", "node_gbps", "rack_gbps", "spine_gbps", "latency_us", "oversubscription"}));
  for (const auto& [key, field] : fields) {
    const auto node = map.find(key);
    if (!node) continue;
    FL_TRY_ASSIGN(gbps, node->real(kGbpsBounds));
    *field = gbps;
  }
  if (const auto node = map.find("latency_us")) {
    FL_TRY_ASSIGN(latency_us, node->real(kLatencyBounds));
    links.latency_us = latency_us;
  }
  if (const auto node = map.find("oversubscription")) {
    FL_TRY_ASSIGN(oversubscription, node->real(kOversubscriptionBounds));
    links.oversubscription = oversubscription;
    // One job across racks then has what its hosts' links and the uplinks leave.
    if (!map.find("spine_gbps")) links.spine_gbps = links.rack_gbps;
  }
  return links;
}

struct GpuGroup {
  std::string type;
  std::uint32_t gpus = 0;
};

// Equal hosts; one with several GPU groups is a mixed host of several nodes.
struct Group {
  std::string name;  // empty: unnamed
  std::int64_t count = 1;
  std::vector<GpuGroup> gpus;
};

Result<GpuGroup> read_gpus(const YamlNode& map, std::string_view type_key,
                           std::string_view count_key) {
  FL_TRY_ASSIGN(type_node, map.get(type_key));
  FL_TRY_ASSIGN(type, type_node.text());
  FL_TRY_ASSIGN(count_node, map.get(count_key));
  FL_TRY_ASSIGN(gpus, count_node.integer(kGpusBounds));
  return GpuGroup{std::move(type), static_cast<std::uint32_t>(gpus)};
}

Result<std::vector<GpuGroup>> read_gpu_groups(const YamlNode& map) {
  std::vector<GpuGroup> groups;
  const auto gpus = map.find("gpus");
  if (!gpus || !gpus->is_list()) {
    FL_TRY_ASSIGN(only, read_gpus(map, "gpu_type", "gpus"));
    groups.push_back(std::move(only));
    return groups;
  }
  if (const auto type = map.find("gpu_type")) {
    return type->bad_value("a host with a list of GPUs names their types in the list");
  }
  FL_TRY_ASSIGN(items, gpus->items());
  for (const YamlNode& item : items) {
    FL_TRY(item.expect_keys({"type", "count"}));
    FL_TRY_ASSIGN(group, read_gpus(item, "type", "count"));
    groups.push_back(std::move(group));
  }
  return groups;
}

Result<Group> read_group(const YamlNode& map) {
  FL_TRY(map.expect_keys({"name", "count", "gpu_type", "gpus"}));
  Group group;
  FL_TRY(read_text(map, "name", group.name));
  FL_TRY(read_integer(map, "count", kCountBounds, group.count));
  FL_TRY_ASSIGN(gpus, read_gpu_groups(map));
  group.gpus = std::move(gpus);
  return group;
}

class ClusterReader {
 public:
  Status read_racks(const YamlNode& list) {
    FL_TRY_ASSIGN(racks, list.items());
    for (const YamlNode& rack : racks) FL_TRY(read_rack(rack));
    return {};
  }
  const std::vector<NodeSpec>& nodes() const { return nodes_; }

 private:
  Status read_rack(const YamlNode& map) {
    FL_TRY(map.expect_keys({"name", "count", "nodes"}));
    std::int64_t count = 1;
    FL_TRY(read_integer(map, "count", kCountBounds, count));
    std::string name;
    FL_TRY(read_text(map, "name", name));
    FL_TRY_ASSIGN(nodes, map.get("nodes"));
    FL_TRY_ASSIGN(groups, read_groups(nodes));
    for (std::int64_t i = 0; i < count; ++i) {
      const std::string rack =
          name.empty() ? fmt::format("r{}", racks_.size()) : numbered(name, i, count);
      if (!racks_.insert(rack).second) {
        return map.error(fmt::format("two racks have the same name: {}", rack));
      }
      for (const Group& group : groups) FL_TRY(add(group, rack, nodes));
    }
    return {};
  }

  static Result<std::vector<Group>> read_groups(const YamlNode& nodes) {
    std::vector<YamlNode> items = {nodes};
    if (!nodes.is_map()) {
      FL_TRY_ASSIGN(list, nodes.items());
      items = std::move(list);
    }
    std::vector<Group> groups;
    for (const YamlNode& item : items) {
      FL_TRY_ASSIGN(group, read_group(item));
      groups.push_back(std::move(group));
    }
    return groups;
  }

  Status add(const Group& group, const std::string& rack, const YamlNode& where) {
    const auto servers = static_cast<std::size_t>(group.count);
    if (nodes_.size() + servers * group.gpus.size() > kNodesMax) {
      return where.error(fmt::format("a cluster has at most {} nodes", kNodesMax));
    }
    for (std::int64_t i = 0; i < group.count; ++i) add_server(group, i, rack);
    return {};
  }

  void add_server(const Group& group, std::int64_t number, const std::string& rack) {
    const std::string name = group.name.empty() ? "" : numbered(group.name, number, group.count);
    const std::string host = fmt::format("host {}", servers_++);
    for (const GpuGroup& gpus : group.gpus) {
      const bool mixed = group.gpus.size() > 1;
      nodes_.push_back({.name = mixed && !name.empty() ? name + "/" + gpus.type : name,
                        .gpu_type = gpus.type,
                        .gpus = gpus.gpus,
                        .host = mixed ? host : "",
                        .rack = rack});
    }
  }

  std::vector<NodeSpec> nodes_;
  std::set<std::string> racks_;
  std::int64_t servers_ = 0;
};

}  // namespace

Result<Cluster> parse_cluster_yaml(std::string_view text, std::string_view file) {
  FL_TRY_ASSIGN(root, YamlNode::parse(text, file));
  FL_TRY(root.expect_keys({"name", "about", "links", "racks"}));
  std::string name = cluster_name(file);
  FL_TRY(read_text(root, "name", name));
  Links links;
  if (const auto map = root.find("links")) {
    FL_TRY_ASSIGN(given, read_links(*map));
    links = given;
  }
  FL_TRY_ASSIGN(racks, root.get("racks"));
  ClusterReader reader;
  FL_TRY(reader.read_racks(racks));
  Result<Cluster> cluster = Cluster::build(std::move(name), links, reader.nodes());
  if (!cluster) return racks.error(cluster.error().message);
  std::set<std::string_view> names;
  for (const std::string& node : cluster->node_names) {
    if (!names.insert(node).second) {
      return racks.error(fmt::format("two nodes have the same name: {}", node));
    }
  }
  return cluster;
}

}  // namespace fairlead
