#include "fairlead/policy/kit/placement.h"

#include <algorithm>

namespace fairlead {
namespace {

constexpr std::string_view kNames[] = {"count",       "first-fit", "best-fit", "yarn",
                                       "consolidate", "rack",      "spread"};

struct Search {
  const Cluster& cluster;
  Plan& plan;
  std::uint32_t gpus;
  TypeMask types;  // allowed, and in this cluster

  const FreeIndex& free() const { return plan.free(); }

  // Calls try_type for each allowed type in order until one returns true.
  template <class TryType>
  bool any_type(const TryType& try_type) const {
    for (GpuTypeId type : ids<GpuTypeId>(cluster.type_names.size())) {
      if ((types & type_bit(type)) != 0 && try_type(type)) return true;
    }
    return false;
  }
};

std::uint32_t node_size(const Cluster& cluster, GpuTypeId type) {
  return cluster.type_node_gpus_max[type];
}

// The lowest node of any allowed type with room for the whole gang.
NodeId first_node(const Search& search, std::uint32_t gpus, NodeRange range) {
  NodeId first;  // none orders after every node
  search.any_type([&](GpuTypeId type) {
    first = std::min(first, search.free().first(type, gpus, range));
    return false;
  });
  return first;
}

// The node of any allowed type with the fewest free GPUs that has room for the whole gang.
NodeId tightest_node(const Search& search) {
  const FreeIndex& free = search.free();
  NodeId best;
  search.any_type([&](GpuTypeId type) {
    const NodeId node = free.tightest(type, search.gpus, free.everywhere());
    if (node.is_none()) return false;
    if (best.is_none() || std::pair(free.on(node), node) < std::pair(free.on(best), best)) {
      best = node;
    }
    return false;
  });
  return best;
}

// The node of any allowed type with the most free GPUs.
NodeId freest_node(const Search& search, NodeRange range) {
  const FreeIndex& free = search.free();
  NodeId best;
  search.any_type([&](GpuTypeId type) {
    const NodeId node = free.freest(type, range);
    if (node.is_none()) return false;
    if (best.is_none() || free.on(node) > free.on(best) ||
        (free.on(node) == free.on(best) && node < best)) {
      best = node;
    }
    return false;
  });
  return best;
}

bool take_whole(const Search& search, NodeId node) {
  if (node.is_none()) return false;
  search.plan.take(node, search.gpus);
  return true;
}

enum class Spill : std::uint8_t {
  kNodeOrder,
  kFreestFirst,
  kEvenly,  // one GPU at a time from the freest
};

// Takes what is free in `range`, node after node, until the gang is complete.
// REQUIRES: the allowed types together have enough there.
void spill(const Search& search, Spill order, NodeRange range) {
  NodeRange rest = range;
  std::uint32_t need = search.gpus;
  while (need > 0) {
    const NodeId node =
        order == Spill::kNodeOrder ? first_node(search, 1, rest) : freest_node(search, range);
    const std::uint32_t taken =
        order == Spill::kEvenly ? 1 : std::min(need, search.free().on(node));
    search.plan.take(node, taken);
    rest.begin = node.row() + 1;
    need -= taken;
  }
}

// Spills over nodes of one type if one has enough, else over all allowed types.
bool spill_over_few_types(const Search& search, Spill order) {
  const NodeRange everywhere = search.free().everywhere();
  const bool one_type = search.any_type([&](GpuTypeId type) {
    if (search.free().of(type) < search.gpus) return false;
    spill({search.cluster, search.plan, search.gpus, type_bit(type)}, order, everywhere);
    return true;
  });
  if (!one_type) spill(search, order, everywhere);
  return true;
}

// Takes the first `nodes` whole idle nodes of `type` in `range`; false if there are fewer, with
// some taken.
bool take_idle_nodes(const Search& search, GpuTypeId type, std::uint32_t nodes, NodeRange range) {
  const std::uint32_t size = node_size(search.cluster, type);
  for (; nodes > 0; --nodes) {
    const NodeId node = search.free().first(type, size, range);
    if (node.is_none()) return false;
    search.plan.take(node, size);
    range.begin = node.row() + 1;
  }
  return true;
}

// A gang larger than a node of `type`, within one rack.
bool yarn_in_rack(const Search& search, GpuTypeId type, NodeRange rack) {
  const std::uint32_t size = node_size(search.cluster, type);
  const std::uint32_t remainder = search.gpus % size;
  if (take_idle_nodes(search, type, search.gpus / size, rack)) {
    if (remainder == 0) return true;
    const NodeId node = search.free().first(type, remainder, rack);
    if (!node.is_none()) {
      search.plan.take(node, remainder);
      return true;
    }
  }
  search.plan.drop();
  return false;
}

bool yarn(const Search& search) {
  // Nodes are numbered rack by rack, so the first node of the first rack with room is the first
  // node.
  if (take_whole(search, first_node(search, search.gpus, search.free().everywhere()))) return true;
  return search.any_type([&](GpuTypeId type) {
    if (search.gpus <= node_size(search.cluster, type)) return false;
    if (search.free().of(type) < search.gpus) return false;
    return std::ranges::any_of(search.cluster.rack_nodes,
                               [&](NodeRange rack) { return yarn_in_rack(search, type, rack); });
  });
}

// A gang larger than a node of `type`.
bool consolidate_large(const Search& search, GpuTypeId type) {
  const NodeRange everywhere = search.free().everywhere();
  const std::uint32_t size = node_size(search.cluster, type);
  const std::uint32_t remainder = search.gpus % size;
  if (take_idle_nodes(search, type, search.gpus / size, everywhere)) {
    if (remainder == 0) return true;
    const NodeId node = search.free().freest(type, everywhere);
    if (!node.is_none() && search.free().on(node) >= remainder) {
      search.plan.take(node, remainder);
      return true;
    }
  }
  search.plan.drop();
  return false;
}

bool consolidate(const Search& search) {
  if (take_whole(search, tightest_node(search))) return true;
  return search.any_type([&](GpuTypeId type) {
    if (search.gpus <= node_size(search.cluster, type)) return false;
    return search.free().of(type) >= search.gpus && consolidate_large(search, type);
  });
}

// Free GPUs of `type` in `range`; `enough` ends the count.
std::uint32_t free_in(const Search& search, GpuTypeId type, NodeRange range, std::uint32_t enough) {
  std::uint32_t gpus = 0;
  while (gpus < enough) {
    const NodeId node = search.free().first(type, 1, range);
    if (node.is_none()) break;
    gpus += search.free().on(node);
    range.begin = node.row() + 1;
  }
  return gpus;
}

bool within_rack(const Search& search) {
  if (take_whole(search, tightest_node(search))) return true;
  return search.any_type([&](GpuTypeId type) {
    if (search.free().of(type) < search.gpus) return false;
    for (NodeRange rack : search.cluster.rack_nodes) {
      if (free_in(search, type, rack, search.gpus) < search.gpus) continue;
      spill({search.cluster, search.plan, search.gpus, type_bit(type)}, Spill::kFreestFirst, rack);
      return true;
    }
    return false;
  });
}

bool take_gang(Placement placement, const Search& search) {
  const NodeRange everywhere = search.free().everywhere();
  switch (placement) {
    case Placement::kCount:
      return spill_over_few_types(search, Spill::kNodeOrder);
    case Placement::kFirstFit:
      return take_whole(search, first_node(search, search.gpus, everywhere)) ||
             spill_over_few_types(search, Spill::kNodeOrder);
    case Placement::kBestFit:
      return take_whole(search, tightest_node(search)) ||
             spill_over_few_types(search, Spill::kFreestFirst);
    case Placement::kYarn:
      return yarn(search);
    case Placement::kConsolidate:
      return consolidate(search);
    case Placement::kRack:
      return within_rack(search);
    case Placement::kSpread:
      return spill_over_few_types(search, Spill::kEvenly);
  }
  return false;
}

}  // namespace

std::optional<Placement> placement_named(std::string_view name) {
  const auto* const found = std::ranges::find(kNames, name);
  if (found == std::end(kNames)) return std::nullopt;
  return static_cast<Placement>(found - kNames);
}

bool place(Placement placement, const Cluster& cluster, Plan& plan, JobId job, std::uint32_t gpus,
           TypeMask types) {
  if (plan.free().total() < gpus || plan.free().of(types) < gpus) return false;
  if (!take_gang(placement, {cluster, plan, gpus, types})) return false;
  plan.place(job);
  return true;
}

bool place_back(const Jobs& jobs, Plan& plan, JobId job) {
  const Gang gang = jobs.last_gang(job);
  const bool is_free = !gang.empty() && std::ranges::all_of(gang, [&](Slice slice) {
    return plan.free().on(slice.node) >= slice.gpus;
  });
  if (!is_free) return false;
  for (Slice slice : gang) plan.take(slice.node, slice.gpus);
  plan.place(job);
  return true;
}

}  // namespace fairlead
