#include "fairlead/policy/kit/placement.h"

#include "fairlead/model/levels.h"
#include "fairlead/policy/kit/domains.h"
#include "fairlead/policy/kit/free_for.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace fairlead {
namespace {

constexpr std::string_view kNames[] = {"count",       "first-fit", "best-fit", "yarn",
                                       "consolidate", "rack",      "spread",   "rack-first"};

// A source of GPUs, one gang at a time.
class Source {
 public:
  explicit Source(const FreeIndex& free) : free_(free) {}
  const FreeIndex& free() const { return free_; }
  virtual void take(NodeId node, std::uint32_t gpus) = 0;
  virtual void drop() = 0;  // gives the taken GPUs back

 protected:
  ~Source() = default;

 private:
  const FreeIndex& free_;
};

class PlanSource final : public Source {
 public:
  explicit PlanSource(Plan& plan) : Source(plan.free()), plan_(plan) {}
  void take(NodeId node, std::uint32_t gpus) override { plan_.take(node, gpus); }
  void drop() override { plan_.drop(); }

 private:
  Plan& plan_;
};

class IndexSource final : public Source {
 public:
  IndexSource(FreeIndex& free, std::vector<Slice>& gang) : Source(free), free_(free), gang_(gang) {}
  void take(NodeId node, std::uint32_t gpus) override {
    free_.take(node, gpus);
    gang_.push_back({.node = node, .gpus = static_cast<std::uint16_t>(gpus)});
  }
  void drop() override {
    for (Slice slice : gang_) free_.give(slice.node, slice.gpus);
    gang_.clear();
  }

 private:
  FreeIndex& free_;
  std::vector<Slice>& gang_;
};

struct Search {
  const Cluster& cluster;
  Source& from;
  std::uint32_t gpus;
  std::uint32_t task_gpus;  // divides gpus
  TypeMask types;           // allowed, and in this cluster
  NodeRange range;          // the nodes that the gang may use
  bool mixes;
  const IdVector<GpuTypeId, std::uint32_t>& sizes;  // the GPUs of the largest node of each type

  const FreeIndex& free() const { return from.free(); }
  // Returns how many of that many GPUs of a node the gang's tasks can use.
  std::uint32_t usable(std::uint32_t node_gpus) const { return whole_tasks(node_gpus, task_gpus); }
  Search with(TypeMask only) const {
    return {cluster, from, gpus, task_gpus, only, range, mixes, sizes};
  }
  Search in(NodeRange section) const {
    return {cluster, from, gpus, task_gpus, types, section, mixes, sizes};
  }
  bool is_everywhere() const { return range.begin == 0 && range.end == cluster.nodes(); }

  // Calls try_type for each allowed type in order until one returns true.
  template <class TryType>
  bool any_type(const TryType& try_type) const {
    for (GpuTypeId type : ids<GpuTypeId>(cluster.type_names.size())) {
      if ((types & type_bit(type)) != 0 && try_type(type)) return true;
    }
    return false;
  }
};

// Returns the GPUs that its tasks can use of the largest node of the type; 0 if none fits.
std::uint32_t node_size(const Search& search, GpuTypeId type) {
  return search.usable(search.sizes[type]);
}

// Returns the lowest node of any allowed type with room for the whole gang.
NodeId first_node(const Search& search, std::uint32_t gpus, NodeRange range) {
  NodeId first;  // by default: after every node
  search.any_type([&](GpuTypeId type) {
    first = std::min(first, search.free().first(type, gpus, range));
    return false;
  });
  return first;
}

// Returns the node of any allowed type with the fewest free GPUs that has room for the whole gang.
NodeId tightest_node(const Search& search) {
  const FreeIndex& free = search.free();
  NodeId best;
  search.any_type([&](GpuTypeId type) {
    const NodeId node = free.tightest(type, search.gpus, search.range);
    if (node.is_none()) return false;
    if (best.is_none() || std::pair(free.on(node), node) < std::pair(free.on(best), best)) {
      best = node;
    }
    return false;
  });
  return best;
}

// Returns the node of any allowed type with the most free GPUs.
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
  search.from.take(node, search.gpus);
  return true;
}

enum class Spill : std::uint8_t {
  kNodeOrder,
  kFreestFirst,
  kEvenly,  // one task at a time to the freest
};

// Takes the usable GPUs in `range`, node after node, until the gang is complete. REQUIRES: the
// allowed types together have enough there.
void spill(const Search& search, Spill order, NodeRange range) {
  NodeRange rest = range;
  std::uint32_t need = search.gpus;
  const std::uint32_t task = search.task_gpus;
  while (need > 0) {
    const NodeId node =
        order == Spill::kNodeOrder ? first_node(search, task, rest) : freest_node(search, range);
    const std::uint32_t taken =
        order == Spill::kEvenly ? task : std::min(need, search.usable(search.free().on(node)));
    search.from.take(node, taken);
    rest.begin = node.row() + 1;
    need -= taken;
  }
}

// Returns the usable GPUs of `type` in `range`; the count stops at `enough`.
std::uint32_t free_in(const Search& search, GpuTypeId type, NodeRange range, std::uint32_t enough) {
  std::uint32_t gpus = 0;
  while (gpus < enough) {
    const NodeId node = search.free().first(type, search.task_gpus, range);
    if (node.is_none()) break;
    gpus += search.usable(search.free().on(node));
    range.begin = node.row() + 1;
  }
  return gpus;
}

// Returns true if the nodes of the type have enough GPUs.
bool has_enough(const Search& search, GpuTypeId type) {
  if (search.free().room(type, search.task_gpus) < search.gpus) return false;
  return search.is_everywhere() || free_in(search, type, search.range, search.gpus) >= search.gpus;
}

// Spills over nodes of one type if one has enough, else over all allowed types if it mixes them.
bool spill_over_few_types(const Search& search, Spill order) {
  const bool one_type = search.any_type([&](GpuTypeId type) {
    if (!has_enough(search, type)) return false;
    spill(search.with(type_bit(type)), order, search.range);
    return true;
  });
  if (!one_type && search.mixes) spill(search, order, search.range);
  return one_type || search.mixes;
}

// Calls try_rack for the usable part of each rack until one call returns true.
template <class TryRack>
bool any_rack(const Search& search, const TryRack& try_rack) {
  return std::ranges::any_of(search.cluster.rack_nodes, [&](NodeRange rack) {
    const NodeRange part{std::max(rack.begin, search.range.begin),
                         std::min(rack.end, search.range.end)};
    return part.begin < part.end && try_rack(part);
  });
}

// Takes the first `nodes` nodes of `type` in `range` on which all of a node's size is free; false if
// there are fewer, with some taken.
bool take_idle_nodes(const Search& search, GpuTypeId type, std::uint32_t nodes, NodeRange range) {
  const std::uint32_t size = node_size(search, type);
  for (; nodes > 0; --nodes) {
    const NodeId node = search.free().first(type, size, range);
    if (node.is_none()) return false;
    search.from.take(node, size);
    range.begin = node.row() + 1;
  }
  return true;
}

// Takes a gang larger than a node of `type`, within one rack.
bool yarn_in_rack(const Search& search, GpuTypeId type, NodeRange rack) {
  const std::uint32_t size = node_size(search, type);
  const std::uint32_t remainder = search.gpus % size;
  if (take_idle_nodes(search, type, search.gpus / size, rack)) {
    if (remainder == 0) return true;
    const NodeId node = search.free().first(type, remainder, rack);
    if (!node.is_none()) {
      search.from.take(node, remainder);
      return true;
    }
  }
  search.from.drop();
  return false;
}

// Returns true if the gang is larger than a node of the type, and the type has enough GPUs.
bool is_for_several(const Search& search, GpuTypeId type) {
  const std::uint32_t size = node_size(search, type);
  return size > 0 && search.gpus > size && has_enough(search, type);
}

bool yarn(const Search& search) {
  // Nodes are numbered rack by rack, so the first node of the first rack with room is the first
  // node.
  if (take_whole(search, first_node(search, search.gpus, search.range))) return true;
  return search.any_type([&](GpuTypeId type) {
    if (!is_for_several(search, type)) return false;
    return any_rack(search, [&](NodeRange rack) { return yarn_in_rack(search, type, rack); });
  });
}

// Takes a gang larger than a node of `type`, on nodes of the range.
bool consolidate_large(const Search& search, GpuTypeId type, NodeRange range) {
  const std::uint32_t size = node_size(search, type);
  const std::uint32_t remainder = search.gpus % size;
  if (take_idle_nodes(search, type, search.gpus / size, range)) {
    if (remainder == 0) return true;
    const NodeId node = search.free().freest(type, range);
    if (!node.is_none() && search.free().on(node) >= remainder) {
      search.from.take(node, remainder);
      return true;
    }
  }
  search.from.drop();
  return false;
}

bool consolidate(const Search& search) {
  if (take_whole(search, tightest_node(search))) return true;
  return search.any_type([&](GpuTypeId type) {
    return is_for_several(search, type) && consolidate_large(search, type, search.range);
  });
}

// Returns the racks that have enough of the type, in increasing order of free GPUs.
std::vector<NodeRange> racks_with_enough(const Search& search, GpuTypeId type) {
  std::vector<std::pair<std::uint32_t, NodeRange>> racks;
  any_rack(search, [&](NodeRange rack) {
    const std::uint32_t gpus = free_in(search, type, rack, search.cluster.gpus);
    if (gpus >= search.gpus) racks.emplace_back(gpus, rack);
    return false;
  });
  std::ranges::stable_sort(racks, {}, [](const auto& rack) { return rack.first; });
  std::vector<NodeRange> sorted;
  sorted.reserve(racks.size());
  for (const auto& [gpus, rack] : racks) sorted.push_back(rack);
  return sorted;
}

bool rack_first(const Search& search) {
  if (take_whole(search, tightest_node(search))) return true;
  return search.any_type([&](GpuTypeId type) {
    if (!is_for_several(search, type)) return false;
    return std::ranges::any_of(
               racks_with_enough(search, type),
               [&](NodeRange rack) { return consolidate_large(search, type, rack); }) ||
           consolidate_large(search, type, search.range);
  });
}

bool within_rack(const Search& search) {
  if (take_whole(search, tightest_node(search))) return true;
  return search.any_type([&](GpuTypeId type) {
    return has_enough(search, type) && any_rack(search, [&](NodeRange rack) {
             if (free_in(search, type, rack, search.gpus) < search.gpus) return false;
             spill(search.with(type_bit(type)), Spill::kFreestFirst, rack);
             return true;
           });
  });
}

bool take_anywhere(Placement placement, const Search& search) {
  using Scheme = Placement::Scheme;
  switch (placement.scheme) {
    case Scheme::kCount:
      return spill_over_few_types(search, Spill::kNodeOrder);
    case Scheme::kFirstFit:
      return take_whole(search, first_node(search, search.gpus, search.range)) ||
             spill_over_few_types(search, Spill::kNodeOrder);
    case Scheme::kBestFit:
      return take_whole(search, tightest_node(search)) ||
             spill_over_few_types(search, Spill::kFreestFirst);
    case Scheme::kYarn:
      return yarn(search);
    case Scheme::kConsolidate:
      return consolidate(search);
    case Scheme::kRackFirst:
      return rack_first(search);
    case Scheme::kRack:
      return within_rack(search);
    case Scheme::kSpread:
      return spill_over_few_types(search, Spill::kEvenly);
  }
  return false;
}

// Takes a gang in one section of the level: the fullest one that has a place for it.
bool take_within(Placement placement, const Search& search, Level level) {
  std::vector<std::pair<std::uint32_t, NodeRange>> sections;
  for_each_section(search.cluster, level, [&](NodeRange section) {
    std::uint32_t gpus = 0;
    search.any_type([&](GpuTypeId type) {
      gpus += free_in(search, type, section, search.cluster.gpus);
      return false;
    });
    if (gpus >= search.gpus) sections.emplace_back(gpus, section);
  });
  std::ranges::stable_sort(sections, {}, [](const auto& section) { return section.first; });
  return std::ranges::any_of(sections, [&](const auto& section) {
    return take_anywhere(placement, search.in(section.second));
  });
}

bool take_close(Placement placement, const Search& search, Closeness closeness) {
  if (closeness == Closeness()) return take_anywhere(placement, search);
  const bool is_required = closeness.required != kAnywhere;
  const Level widest = is_required ? closeness.required : widest_level(search.cluster);
  const Level first = closeness.preferred != kAnywhere ? closeness.preferred : widest;
  for (Level level = first; level <= widest; ++level) {
    if (take_within(placement, search, level)) return true;
  }
  return !is_required && take_anywhere(placement, search);
}

// Returns the GPUs of these types in the idle section that the tasks of the gang could use.
std::uint32_t idle_gpus(const Cluster& cluster, NodeRange section, TypeMask types,
                        std::uint32_t task_gpus) {
  if (task_gpus > 1 || section.end - section.begin < cluster.nodes()) {
    return gpus_in(cluster, section, types,
                   [&](NodeId node) { return whole_tasks(cluster.node_gpus[node], task_gpus); });
  }
  std::uint32_t gpus = 0;
  for (GpuTypeId type : ids<GpuTypeId>(cluster.type_names.size())) {
    if ((types & type_bit(type)) != 0) gpus += cluster.type_gpus[type];
  }
  return gpus;
}

bool take_of_sizes(Placement placement, const Cluster& cluster, FreeIndex& free, GangAsked asked,
                   TypeMask types, const IdVector<GpuTypeId, std::uint32_t>& sizes,
                   std::vector<Slice>& gang) {
  gang.clear();
  if (free.total() < asked.gpus || free.room(types, asked.task_gpus) < asked.gpus) return false;
  IndexSource from(free, gang);
  const Search search{cluster,         from, asked.gpus, asked.task_gpus, types, free.everywhere(),
                      placement.mixes, sizes};
  if (!take_close(placement, search, asked.closeness)) return false;
  // Tasks may have come to a node one by one.
  std::ranges::sort(gang, {}, &Slice::node);
  std::size_t last = 0;
  for (std::size_t i = 1; i < gang.size(); ++i) {
    if (gang[i].node == gang[last].node) {
      gang[last].gpus = static_cast<std::uint16_t>(gang[last].gpus + gang[i].gpus);
    } else {
      gang[++last] = gang[i];
    }
  }
  gang.resize(last + 1);
  return true;
}

// Returns the GPUs that the job's tasks could use of the largest idle node of each type.
IdVector<GpuTypeId, std::uint32_t> limited_sizes(const Cluster& cluster, const TaskRoom& room,
                                                 JobId job, std::uint32_t task_gpus) {
  IdVector<GpuTypeId, std::uint32_t> sizes(cluster.type_names.size(), 0);
  for (NodeId node : ids<NodeId>(cluster.nodes())) {
    std::uint32_t& size = sizes[cluster.node_type[node]];
    const std::uint32_t tasks =
        std::min(cluster.node_gpus[node] / task_gpus, room.most_tasks(job, node));
    size = std::max(size, tasks * task_gpus);
  }
  return sizes;
}

// Returns whether the scheme has another rule for gangs larger than a node.
bool needs_sizes(Placement placement) {
  using Scheme = Placement::Scheme;
  return placement.scheme == Scheme::kYarn || placement.scheme == Scheme::kConsolidate ||
         placement.scheme == Scheme::kRackFirst;
}

// Searches an index in which each node has only the GPUs that the job's tasks can use.
bool place_limited(Placement placement, const Cluster& cluster, Plan& plan, JobId job,
                   std::uint32_t gpus, TypeMask types) {
  const std::uint32_t task = plan.task_gpus(job);
  LimitedGpus usable{limited_free(cluster, plan.free(), plan.room(), job, task, types),
                     needs_sizes(placement) ? limited_sizes(cluster, plan.room(), job, task)
                                            : cluster.type_node_gpus_max};
  std::vector<Slice> gang;
  const GangAsked asked{gpus, task, plan.closeness(job)};
  if (!take_of_sizes(placement, cluster, usable.free, asked, types, usable.sizes, gang))
    return false;
  for (Slice slice : gang) plan.take(slice.node, slice.gpus);
  return plan.place(job);
}

}  // namespace

std::optional<Placement> placement_named(std::string_view name) {
  const auto* const found = std::ranges::find(kNames, name);
  if (found == std::end(kNames)) return std::nullopt;
  return Placement{static_cast<Placement::Scheme>(found - kNames)};
}

bool has_types_for(Placement placement, const Cluster& cluster, GangAsked gang, TypeMask types) {
  bool has_some = false;
  const auto ask = [&](NodeRange section, TypeMask allowed) {
    has_some = has_some || idle_gpus(cluster, section, allowed, gang.task_gpus) >= gang.gpus;
  };
  for_each_section(cluster, gang.closeness.required, [&](NodeRange section) {
    if (placement.mixes) return ask(section, types);
    for (GpuTypeId type : ids<GpuTypeId>(cluster.type_names.size())) {
      if ((types & type_bit(type)) != 0) ask(section, type_bit(type));
    }
  });
  return has_some;
}

bool place(Placement placement, const Cluster& cluster, Plan& plan, JobId job, std::uint32_t gpus,
           TypeMask types) {
  if (plan.is_pinned(job)) return plan.place_pinned(job);
  const std::uint32_t task = plan.task_gpus(job);
  if (plan.free().total() < gpus || plan.free().room(types, task) < gpus) return false;
  if (!plan.examine(job)) return false;
  if (plan.room().limits(job)) return place_limited(placement, cluster, plan, job, gpus, types);
  PlanSource from(plan);
  const Search search{cluster,
                      from,
                      gpus,
                      task,
                      types,
                      plan.free().everywhere(),
                      placement.mixes,
                      cluster.type_node_gpus_max};
  return take_close(placement, search, plan.closeness(job)) && plan.place(job);
}

bool take_gang(Placement placement, const Cluster& cluster, FreeIndex& free, GangAsked asked,
               TypeMask types, std::vector<Slice>& gang) {
  return take_of_sizes(placement, cluster, free, asked, types, cluster.type_node_gpus_max, gang);
}

bool take_gang(Placement placement, const Cluster& cluster, LimitedGpus& usable, GangAsked asked,
               TypeMask types, std::vector<Slice>& gang) {
  return take_of_sizes(placement, cluster, usable.free, asked, types, usable.sizes, gang);
}

FreeIndex limited_free(const Cluster& cluster, const FreeIndex& free, const TaskRoom& room,
                       JobId job, std::uint32_t task_gpus, TypeMask types) {
  FreeIndex usable = free;
  for (NodeId node : ids<NodeId>(cluster.nodes())) {
    const std::uint32_t on = free.on(node);
    if (on == 0 || (types & type_bit(cluster.node_type[node])) == 0) continue;
    const std::uint32_t tasks = room.tasks(job, node);
    if (tasks < on / task_gpus) usable.take(node, on - tasks * task_gpus);
  }
  return usable;
}

LimitedGpus limited_gpus(const Cluster& cluster, const FreeIndex& free, const TaskRoom& room,
                         JobId job, std::uint32_t task_gpus) {
  return {limited_free(cluster, free, room, job, task_gpus),
          limited_sizes(cluster, room, job, task_gpus)};
}

bool has_place(Placement placement, const Cluster& cluster, FreeIndex free,
               const IdVector<GpuTypeId, std::uint32_t>& sizes, GangAsked asked, TypeMask types) {
  std::vector<Slice> gang;
  return take_of_sizes(placement, cluster, free, asked, types, sizes, gang);
}

bool place_back(const Jobs& jobs, Plan& plan, JobId job) {
  const Gang gang = jobs.last_gang(job);
  const bool is_free = !gang.empty() && std::ranges::all_of(gang, [&](Slice slice) {
    return plan.free().on(slice.node) >= slice.gpus;
  });
  if (!is_free) return false;
  for (Slice slice : gang) plan.take(slice.node, slice.gpus);
  return plan.place(job);
}

}  // namespace fairlead
