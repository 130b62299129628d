// Levels: the sections of the network that a job may ask to be within. A host, a rack, all racks
// below one switch of a level above (Cluster::levels); a job may require one, or prefer one.
//
// A section of a level is a range of nodes, as racks below a switch are neighbours. Nodes of a host
// are, too, where input lists them one after another; else each run of them is a section.
//
// level_section, within: O(levels), O(slices x levels).
#pragma once

#include "fairlead/model/cluster.h"
#include "fairlead/model/job_asks.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace fairlead {

// Returns "host" or the cluster's name of the level. REQUIRES: level is 1 to widest_level().
std::string_view level_name(const Cluster& cluster, Level level);
std::optional<Level> level_named(const Cluster& cluster, std::string_view name);
inline Level widest_level(const Cluster& cluster) {
  return static_cast<Level>(kHostLevel + cluster.levels.size());
}

// The section that begins at that node, as far as it goes from there. kAnywhere: all that follow.
NodeRange level_section(const Cluster& cluster, Level level, std::uint32_t begin);
// Returns whether the gang is within one section. REQUIRES: gang is not empty.
bool within(const Cluster& cluster, Level level, Gang gang);

// Calls visit(section) for each section of the level, in the order of nodes.
template <class Visit>
void for_each_section(const Cluster& cluster, Level level, const Visit& visit) {
  const auto nodes = static_cast<std::uint32_t>(cluster.nodes());
  for (std::uint32_t begin = 0; begin < nodes;) {
    const NodeRange section = level_section(cluster, level, begin);
    visit(section);
    begin = section.end;
  }
}

// Calls attempt(section) for the sections in which a gang may be, the best first, until one returns true.
// Order: sections of its preferred level, of each wider level up to the required one, then the cluster.
template <class Attempt>
bool any_section(const Cluster& cluster, Closeness closeness, const Attempt& attempt) {
  const bool is_required = closeness.required != kAnywhere;
  bool is_done = false;
  if (closeness != Closeness()) {
    const Level widest = is_required ? closeness.required : widest_level(cluster);
    const Level first = closeness.preferred != kAnywhere ? closeness.preferred : widest;
    for (Level level = first; level <= widest; ++level) {
      for_each_section(cluster, level,
                       [&](NodeRange section) { is_done = is_done || attempt(section); });
    }
  }
  return is_done || (!is_required && attempt(level_section(cluster, kAnywhere, 0)));
}

// Returns the section of the level with the fewest GPUs, but at least `gpus`; the first of equals; none
// if there is none. on(node): the GPUs of a node that count. O(nodes x levels).
template <class On>
std::optional<NodeRange> tightest_section(const Cluster& cluster, Level level, TypeMask types,
                                          std::uint32_t gpus, const On& on) {
  std::optional<NodeRange> best;
  std::uint32_t least = 0;
  for_each_section(cluster, level, [&](NodeRange section) {
    std::uint32_t there = 0;
    for (std::uint32_t row = section.begin; row < section.end; ++row) {
      if ((types & type_bit(cluster.node_type[NodeId(row)])) != 0) there += on(NodeId(row));
    }
    if (there < gpus || (best && there >= least)) return;
    least = there;
    best = section;
  });
  return best;
}

// Returns whether one idle section of the level has room for `gpus` GPUs of these types in tasks of
// `task_gpus`, of one type or of several. O(nodes x levels).
bool has_room_within(const Cluster& cluster, Level level, TypeMask types, std::uint32_t gpus,
                     std::uint32_t task_gpus);

}  // namespace fairlead
