#include "fairlead/model/levels.h"

#include "fairlead/base/check.h"

#include <algorithm>

namespace fairlead {
namespace {

// Returns the switch of that level above the rack; none if there is none.
SwitchId switch_above(const Cluster& cluster, RackId rack, Level level) {
  SwitchId at = cluster.racks[rack].parent;
  for (Level below = kRackLevel + 1; below < level && !at.is_none(); ++below) {
    at = cluster.switches[at].parent;
  }
  return at;
}

bool are_together(const Cluster& cluster, Level level, NodeId a, NodeId b) {
  if (level == kAnywhere || a == b) return true;
  if (level == kHostLevel) return cluster.node_host[a] == cluster.node_host[b];
  const RackId rack_a = cluster.node_rack[a];
  const RackId rack_b = cluster.node_rack[b];
  if (rack_a == rack_b) return true;
  if (level == kRackLevel) return false;
  const SwitchId above = switch_above(cluster, rack_a, level);
  return !above.is_none() && above == switch_above(cluster, rack_b, level);
}

}  // namespace

std::string_view level_name(const Cluster& cluster, Level level) {
  FL_CHECK(level >= kHostLevel && level <= widest_level(cluster), "level {}", level);
  return level == kHostLevel ? std::string_view("host") : cluster.levels[level - kRackLevel];
}

std::optional<Level> level_named(const Cluster& cluster, std::string_view name) {
  for (Level level = kHostLevel; level <= widest_level(cluster); ++level) {
    if (level_name(cluster, level) == name) return level;
  }
  return std::nullopt;
}

NodeRange level_section(const Cluster& cluster, Level level, std::uint32_t begin) {
  const auto nodes = static_cast<std::uint32_t>(cluster.nodes());
  if (level == kAnywhere) return {begin, nodes};
  NodeRange section{begin, begin + 1};
  while (section.end < nodes && are_together(cluster, level, NodeId(begin), NodeId(section.end))) {
    ++section.end;
  }
  return section;
}

bool within(const Cluster& cluster, Level level, Gang gang) {
  return std::ranges::all_of(
      gang, [&](Slice slice) { return are_together(cluster, level, gang[0].node, slice.node); });
}

bool has_room_within(const Cluster& cluster, Level level, TypeMask types, std::uint32_t gpus,
                     std::uint32_t task_gpus) {
  return tightest_section(
             cluster, level, types, gpus,
             [&](NodeId node) { return whole_tasks(cluster.node_gpus[node], task_gpus); })
      .has_value();
}

}  // namespace fairlead
