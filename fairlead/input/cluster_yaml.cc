// Cluster YAML; the schema is in cluster_file.h.

#include "fairlead/input/cluster_file.h"
#include "fairlead/input/yaml_reader.h"
#include "fairlead/model/cluster_build.h"

#include <cmath>
#include <map>
#include <set>

namespace fairlead {
namespace {

constexpr IntegerBounds kCountBounds = {1, kNodesMax};
constexpr IntegerBounds kGpusBounds = {1, kNodeGpusMax};
constexpr IntegerBounds kNicsBounds = {1, 64};
constexpr RealBounds kAmountBounds = {1e-3, static_cast<double>(kThousandthsMax) / 1000};
constexpr RealBounds kGbpsBounds = {1e-6, 1e6};
constexpr RealBounds kLatencyBounds = {0, 1e6};
constexpr RealBounds kOversubscriptionBounds = {1, 1e3};

// Returns `name`, numbered if there are several such things.
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
    // One job across racks is then limited only by its hosts' links and the uplinks.
    if (!map.find("spine_gbps")) links.spine_gbps = links.rack_gbps;
  }
  return links;
}

Status read_real(const YamlNode& map, std::string_view key, RealBounds bounds, double& value) {
  if (const auto node = map.find(key)) {
    FL_TRY_ASSIGN(number, node->real(bounds));
    value = number;
  }
  return {};
}

Result<Uplink> read_uplink(const YamlNode& map) {
  Uplink uplink;
  FL_TRY(read_real(map, "uplink_gbps", kGbpsBounds, uplink.gbps));
  FL_TRY(read_real(map, "oversubscription", kOversubscriptionBounds, uplink.oversubscription));
  if (uplink.gbps > 0 && uplink.oversubscription > 0) {
    return map.error("uplink_gbps and oversubscription exclude each other: remove one");
  }
  return uplink;
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
  NodeLinks links;
  std::int64_t nics = 1;
  double nic_gbps = 0;
  std::int64_t domain = 1;  // that many hosts share their links
  CpuMemory has;
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

Status read_host_links(const YamlNode& map, Group& group) {
  FL_TRY(read_real(map, "pair_gbps", kGbpsBounds, group.links.pair_gbps));
  FL_TRY(read_real(map, "node_gbps", kGbpsBounds, group.links.node_gbps));
  FL_TRY(read_integer(map, "nics", kNicsBounds, group.nics));
  FL_TRY(read_real(map, "nic_gbps", kGbpsBounds, group.nic_gbps));
  FL_TRY(read_integer(map, "domain", kCountBounds, group.domain));
  if (group.count % group.domain != 0) {
    return map.error(fmt::format("{} hosts do not fill domains of {}", group.count, group.domain));
  }
  return {};
}

Status read_thousandths(const YamlNode& map, std::string_view key, Thousandths& value) {
  double number = 0;
  FL_TRY(read_real(map, key, kAmountBounds, number));
  value = {std::llround(number * 1000)};
  return {};
}

Result<Group> read_group(const YamlNode& map) {
  FL_TRY(map.expect_keys({"name", "count", "gpu_type", "gpus", "cpus", "memory_gb", "pair_gbps",
                          "node_gbps", "nics", "nic_gbps", "domain"}));
  Group group;
  FL_TRY(read_text(map, "name", group.name));
  FL_TRY(read_integer(map, "count", kCountBounds, group.count));
  FL_TRY_ASSIGN(gpus, read_gpu_groups(map));
  group.gpus = std::move(gpus);
  FL_TRY(read_host_links(map, group));
  FL_TRY(read_thousandths(map, "cpus", group.has.cpus));
  FL_TRY(read_thousandths(map, "memory_gb", group.has.memory_gb));
  return group;
}

class ClusterReader {
 public:
  // Switches with switches or racks below them.
  Status read_switches(const YamlNode& list, const std::string& parent = "") {
    FL_TRY_ASSIGN(switches, list.items());
    for (const YamlNode& map : switches) FL_TRY(read_equal_switches(map, parent));
    return {};
  }
  Status read_racks(const YamlNode& list, const std::string& parent = "") {
    FL_TRY_ASSIGN(racks, list.items());
    for (const YamlNode& rack : racks) FL_TRY(read_rack(rack, parent));
    return {};
  }
  const std::vector<NodeSpec>& nodes() const { return nodes_; }
  const std::vector<SwitchSpec>& switches() const { return switches_; }

 private:
  // Equal switches, or racks.
  struct Switches {
    std::string name;  // empty: `letter` and a number
    std::string_view letter;
    std::int64_t count = 1;
    Uplink uplink;
  };

  Status read_equal_switches(const YamlNode& map, const std::string& parent) {
    FL_TRY(
        map.expect_keys({"name", "count", "uplink_gbps", "oversubscription", "switches", "racks"}));
    FL_TRY_ASSIGN(row, read_switch(map, parent, "s"));
    const bool has_racks = map.find("racks").has_value();
    if (has_racks == map.find("switches").has_value()) {
      return map.error("a switch has either switches or racks below it");
    }
    FL_TRY_ASSIGN(below, map.get(has_racks ? "racks" : "switches"));
    for (std::int64_t i = 0; i < row.count; ++i) {
      FL_TRY_ASSIGN(name, add_switch(row, i, parent, map));
      FL_TRY(has_racks ? read_racks(below, name) : read_switches(below, name));
    }
    return {};
  }

  static Result<Switches> read_switch(const YamlNode& map, const std::string& parent,
                                      std::string_view letter) {
    Switches row{.name = {}, .letter = letter, .uplink = {}};
    FL_TRY(read_integer(map, "count", kCountBounds, row.count));
    FL_TRY(read_text(map, "name", row.name));
    if (!row.name.empty() && !parent.empty()) row.name = parent + "/" + row.name;
    FL_TRY_ASSIGN(uplink, read_uplink(map));
    row.uplink = uplink;
    return row;
  }

  Result<std::string> add_switch(const Switches& row, std::int64_t number,
                                 const std::string& parent, const YamlNode& where) {
    std::string name = row.name.empty() ? fmt::format("{}{}", row.letter, numbers_[row.letter])
                                        : numbered(row.name, number, row.count);
    ++numbers_[row.letter];
    if (!names_.insert(name).second) {
      return where.error(fmt::format("two {} have the same name: {}",
                                     row.letter == "r" ? "racks" : "switches", name));
    }
    switches_.push_back({name, parent, row.uplink});
    return name;
  }

  Status read_rack(const YamlNode& map, const std::string& parent) {
    FL_TRY(map.expect_keys({"name", "count", "uplink_gbps", "oversubscription", "nodes"}));
    FL_TRY_ASSIGN(row, read_switch(map, parent, "r"));
    FL_TRY_ASSIGN(nodes, map.get("nodes"));
    FL_TRY_ASSIGN(groups, read_groups(nodes));
    for (std::int64_t i = 0; i < row.count; ++i) {
      FL_TRY_ASSIGN(rack, add_switch(row, i, parent, map));
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
    if (number % group.domain == 0) ++hosts_;
    const std::string host = fmt::format("host {}", hosts_);
    Nics nics{static_cast<std::uint32_t>(group.nics), group.nic_gbps};
    std::int64_t server_gpus = 0;
    for (const GpuGroup& gpus : group.gpus) server_gpus += gpus.gpus;
    for (const GpuGroup& gpus : group.gpus) {
      const bool mixed = group.gpus.size() > 1;
      nodes_.push_back({.name = mixed && !name.empty() ? name + "/" + gpus.type : name,
                        .gpu_type = gpus.type,
                        .gpus = gpus.gpus,
                        .host = mixed || group.domain > 1 ? host : "",
                        .rack = rack,
                        .links = group.links,
                        .nics = nics,
                        .has = group.has.part(gpus.gpus, server_gpus)});
      nics.count = 0;  // a mixed host has them only once
    }
  }

  std::vector<NodeSpec> nodes_;
  std::vector<SwitchSpec> switches_;  // parents before their children
  std::set<std::string> names_;
  std::map<std::string_view, std::int64_t> numbers_;  // switches so far, by letter
  std::int64_t hosts_ = 0;
};

Result<std::vector<std::string>> read_levels(const YamlNode& root) {
  const auto list = root.find("levels");
  if (!list) return FabricSpec().levels;
  FL_TRY_ASSIGN(items, list->items());
  std::vector<std::string> levels;
  levels.reserve(items.size());
  for (const YamlNode& item : items) {
    FL_TRY_ASSIGN(level, item.text());
    levels.push_back(std::move(level));
  }
  if (levels.empty()) return list->bad_value("a cluster has at least one level of switches");
  return levels;
}

}  // namespace

Result<Cluster> parse_cluster_yaml(std::string_view text, std::string_view file) {
  FL_TRY_ASSIGN(root, YamlNode::parse(text, file));
  FL_TRY(root.expect_keys({"name", "about", "links", "levels", "switches", "racks"}));
  std::string name = cluster_name(file);
  FL_TRY(read_text(root, "name", name));
  Links links;
  if (const auto map = root.find("links")) {
    FL_TRY_ASSIGN(given, read_links(*map));
    links = given;
  }
  FabricSpec fabric;
  FL_TRY_ASSIGN(levels, read_levels(root));
  fabric.levels = std::move(levels);
  const auto switches = root.find("switches");
  if (switches && root.find("racks")) return root.error("a cluster has either switches or racks");
  FL_TRY_ASSIGN(racks, root.get(switches ? "switches" : "racks"));
  ClusterReader reader;
  FL_TRY(switches ? reader.read_switches(racks) : reader.read_racks(racks));
  fabric.switches = reader.switches();
  Result<Cluster> cluster = build_cluster(std::move(name), links, reader.nodes(), fabric);
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
