#include "fairlead/policy/kit/no_place.h"

#include "fairlead/model/levels.h"
#include "fairlead/policy/kit/domains.h"

#include <fmt/format.h>

#include <algorithm>

namespace fairlead {
namespace {

struct Question {
  Placement placement;
  const Cluster& cluster;
  const FreeIndex& free;
  GangAsked gang;
  TypeMask types;
  const IdVector<GpuTypeId, std::uint32_t>& sizes;  // the GPUs of the largest node of each type

  // Returns how many of the node's free GPUs whole tasks can use.
  std::uint32_t usable(NodeId node) const { return whole_tasks(free.on(node), gang.task_gpus); }
};

// Asks the placement itself.
bool fits(const Question& ask) {
  return has_place(ask.placement, ask.cluster, ask.free, ask.sizes, ask.gang, ask.types);
}

// The most that it could use of one of the types in one domain of the tier.
std::uint32_t most_together(const Question& ask, Tier tier) {
  std::uint32_t most = 0;
  for (GpuTypeId type : ids<GpuTypeId>(ask.cluster.type_names.size())) {
    const TypeMask allowed = ask.types & type_bit(type);
    most = std::max(most, most_in_domain(ask.cluster, tier, allowed,
                                         [&](NodeId node) { return ask.usable(node); }));
  }
  return most;
}

// The most that it could use in one section of the level, of one of the types.
std::uint32_t most_within(const Question& ask, Level level) {
  std::uint32_t most = 0;
  for (GpuTypeId type : ids<GpuTypeId>(ask.cluster.type_names.size())) {
    if ((ask.types & type_bit(type)) == 0) continue;
    for_each_section(ask.cluster, level, [&](NodeRange section) {
      most = std::max(most, gpus_in(ask.cluster, section, type_bit(type),
                                    [&](NodeId node) { return ask.usable(node); }));
    });
  }
  return most;
}

// Whole nodes, of any rack.
bool consolidates(Placement placement) {
  return placement == Placement::kConsolidate || placement == Placement::kRackFirst;
}

// Returns true if the placement has the gang on one node or not at all.
bool insists_on_one_node(const Question& ask) {
  if (ask.placement != Placement::kYarn && !consolidates(ask.placement)) return false;
  std::uint32_t largest = 0;
  for (GpuTypeId type : ids<GpuTypeId>(ask.cluster.type_names.size())) {
    if ((ask.types & type_bit(type)) == 0) continue;
    largest = std::max(largest, ask.sizes[type]);
  }
  return ask.gang.gpus <= largest;
}

// "only one node has 8", "only 3 nodes have 8" or, where a node has room for several, how many.
std::string room_for_tasks(const Question& ask) {
  std::uint32_t nodes = 0;
  std::uint32_t tasks = 0;
  for (NodeId node : ids<NodeId>(ask.cluster.nodes())) {
    if ((ask.types & type_bit(ask.cluster.node_type[node])) == 0) continue;
    const std::uint32_t here = ask.usable(node) / ask.gang.task_gpus;
    nodes += here > 0 ? 1 : 0;
    tasks += here;
  }
  if (nodes == 0) return fmt::format(", but no node has {}", ask.gang.task_gpus);
  if (tasks > nodes) return fmt::format(", but nodes have room for only {} of its tasks", tasks);
  if (nodes == 1) return fmt::format(", but only one node has {}", ask.gang.task_gpus);
  return fmt::format(", but only {} nodes have {}", nodes, ask.gang.task_gpus);
}

std::string needs(GangAsked gang) {
  if (gang.task_gpus == 1) return fmt::format("needs {} GPUs", gang.gpus);
  const std::uint32_t tasks = gang.gpus / gang.task_gpus;
  return fmt::format("needs {} task{} of {} GPUs", tasks, tasks == 1 ? "" : "s", gang.task_gpus);
}

struct Reason {
  Misfit why;
  std::string text;
};

// REQUIRES: it does not fit.
Reason reason(const Question& ask) {
  const std::uint32_t gpus = ask.gang.gpus;
  if (ask.free.total() < gpus) return {Misfit::kTooFew, ""};
  const std::uint32_t of_types = ask.free.of(ask.types);
  if (of_types < gpus) {
    return {Misfit::kOtherTypes, fmt::format(", but only {} of its types", of_types)};
  }
  if (ask.free.room(ask.types, ask.gang.task_gpus) < gpus) {
    return {Misfit::kFewTasks, room_for_tasks(ask)};
  }
  const auto at_most = [&](Tier tier, std::string_view where) {
    return fmt::format(", but at most {} {}", most_together(ask, tier), where);
  };
  if (most_together(ask, Tier::kSpine) < gpus) {
    return {Misfit::kManyTypes, at_most(Tier::kSpine, "of one type")};
  }
  const Level level = ask.gang.closeness.required;
  if (const std::uint32_t most = most_within(ask, level); most < gpus) {
    return {Misfit::kManySections,
            fmt::format(", but at most {} in one {}", most, level_name(ask.cluster, level))};
  }
  if (insists_on_one_node(ask)) return {Misfit::kManyNodes, at_most(Tier::kNode, "on one node")};
  if (!consolidates(ask.placement) && most_together(ask, Tier::kRack) < gpus) {
    return {Misfit::kManyRacks, at_most(Tier::kRack, "in one rack")};
  }
  return {Misfit::kManyNodes, ", but not on whole nodes"};
}

}  // namespace

NoPlace why_no_place(Placement placement, const Cluster& cluster, const FreeIndex& free,
                     GangAsked gang, TypeMask types) {
  const Question now{placement, cluster, free, gang, types, cluster.type_node_gpus_max};
  if (fits(now)) return {Misfit::kNone, false, "it fits"};
  const FreeIndex idle(cluster);
  const Question ever{placement, cluster, idle, gang, types, cluster.type_node_gpus_max};
  const bool never = !fits(ever);
  const Reason found = reason(never ? ever : now);
  const std::string have = never ? fmt::format("the idle cluster has {}", idle.total())
                                 : fmt::format("{} are free", free.total());
  return {found.why, never, fmt::format("{}; {}{}", needs(gang), have, found.text)};
}

std::string_view why_never_placed(const PlacementTraits& traits, const Cluster& cluster,
                                  GangAsked gang, TypeMask types) {
  return why_never_placed(traits, cluster, gang, types,
                          {FreeIndex(cluster), cluster.type_node_gpus_max});
}

std::string_view why_never_placed(const PlacementTraits& traits, const Cluster& cluster,
                                  GangAsked gang, TypeMask types, const LimitedGpus& idle) {
  const bool mixes = traits.placement.mixes && !traits.one_type;
  // A policy that waits for GPUs near each other takes any in the end.
  const Placement widest = traits.near.ms > 0 ? Placement::kBestFit : traits.placement;
  const Question ever{widest.mixing(mixes), cluster, idle.free, gang, types, idle.sizes};
  if (fits(ever)) return {};
  switch (reason(ever).why) {
    case Misfit::kManyTypes:
      return "larger than each GPU type it may run on, and its policy mixes no types in a gang";
    case Misfit::kManySections:
      return "no section of its required network level has enough GPUs of one type, and "
             "its policy mixes no types in a gang";
    case Misfit::kManyRacks:
      return "larger than each rack, and its policy keeps a gang in one rack";
    case Misfit::kManyNodes:
      return "its policy wants its gang on fewer nodes than the cluster can give it";
    default:
      return "larger than the room on the nodes that it may run on";
  }
}

}  // namespace fairlead
