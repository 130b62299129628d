#include "fairlead/pods/node_levels.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace fairlead {
namespace {

std::string_view label_of(const Node& node, std::string_view label) {
  const auto found = node.labels.find(label);
  return found == node.labels.end() ? std::string_view() : std::string_view(found->second);
}

}  // namespace

NodeLevels::NodeLevels()
    : racks_{"network.topology.nvidia.com/leaf", "topology.k8s.aws/network-node-layer-3",
             "cloud.google.com/gce-topology-subblock", "topology.kubernetes.io/rack",
             "topology.kubernetes.io/zone"} {}

NodeLevels NodeLevels::of_racks(std::vector<std::string> labels) {
  NodeLevels levels;
  levels.racks_ = std::move(labels);
  return levels;
}

Result<NodeLevels> NodeLevels::of_levels(std::vector<std::string> labels) {
  constexpr std::size_t kMost = kLevelMax - kHostLevel;
  if (labels.size() > kMost)
    return input_error("{} levels of nodes, but there can be {}", labels.size(), kMost);
  NodeLevels levels;
  levels.racks_.clear();
  levels.levels_ = std::move(labels);
  return levels;
}

std::string NodeLevels::rack_of(const Node& node) const {
  std::string path;
  for (const std::string& label : levels_) {
    const std::string_view section = label_of(node, label);
    path += fmt::format("{}{}", path.empty() ? "" : "/", section.empty() ? "-" : section);
  }
  if (has_levels()) return path;
  const auto has = [&](const std::string& label) { return !label_of(node, label).empty(); };
  const auto first = std::ranges::find_if(racks_, has);
  return first == racks_.end() ? std::string() : std::string(label_of(node, *first));
}

FabricSpec NodeLevels::fabric_of(std::span<const NodeSpec> nodes) const {
  FabricSpec fabric;
  if (levels_.size() < 2) return fabric;
  fabric.levels.assign(levels_.rbegin(), levels_.rend());
  std::set<std::pair<std::size_t, std::string>> known;  // by depth, so that parents come first
  for (const NodeSpec& node : nodes) {
    std::size_t end = 0;
    for (std::size_t depth = 0; depth < levels_.size(); ++depth) {
      end = node.rack.find('/', depth == 0 ? 0 : end + 1);
      known.emplace(depth, node.rack.substr(0, end));
    }
  }
  for (const auto& [depth, name] : known) {
    const std::size_t slash = name.rfind('/');
    fabric.switches.push_back(
        {.name = name, .parent = depth == 0 ? std::string() : name.substr(0, slash), .uplink{}});
  }
  return fabric;
}

std::optional<Level> NodeLevels::level_of(std::string_view label) const {
  if (label == kHostname) return kHostLevel;
  if (!has_levels()) {
    const bool is_rack = std::ranges::find(racks_, label) != racks_.end();
    return is_rack ? std::optional(kRackLevel) : std::nullopt;
  }
  const auto found = std::ranges::find(levels_, label);
  if (found == levels_.end()) return std::nullopt;
  return static_cast<Level>(kRackLevel + (levels_.end() - found) - 1);
}

std::string NodeLevels::text() const { return fmt::format("{}", fmt::join(levels_, ",")); }

}  // namespace fairlead
