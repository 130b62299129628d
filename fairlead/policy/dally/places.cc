#include "fairlead/policy/dally/places.h"

#include "fairlead/model/levels.h"
#include "fairlead/policy/kit/domains.h"
#include "fairlead/policy/kit/free_for.h"

#include <algorithm>

namespace fairlead {
namespace {

// Takes as many of the open gang's GPUs as the range has: whole nodes, the freest first, and the
// rest on the tightest node with room. Returns the number still missing.
std::uint32_t take_in(Plan& plan, FreeFor& free, GpuTypeId type, NodeRange range, GangAsked gang) {
  while (gang.gpus > 0) {
    NodeId node = free.index().tightest(type, gang.gpus, range);
    if (node.is_none()) node = free.index().freest(type, range);
    if (node.is_none()) break;
    const std::uint32_t usable = whole_tasks(free.index().on(node), gang.task_gpus);
    if (usable == 0) break;
    const std::uint32_t taken = std::min(gang.gpus, usable);
    free.take(plan, node, taken);
    gang.gpus -= taken;
  }
  return gang.gpus;
}

// Returns the rack in the range with the most GPUs that the tasks could use.
NodeRange freest_rack(const View& view, const FreeIndex& free, const DallyPlace& place,
                      std::uint32_t task) {
  NodeRange freest{};
  std::uint32_t most = 0;
  for (NodeRange rack : view.cluster.rack_nodes) {
    if (rack.begin < place.range.begin || rack.end > place.range.end) continue;
    const std::uint32_t there = gpus_in(view.cluster, rack, type_bit(place.type), [&](NodeId node) {
      return whole_tasks(free.on(node), task);
    });
    if (there <= most) continue;
    most = there;
    freest = rack;
  }
  return freest;
}

std::optional<DallyPlace> tightest_in(const View& view, const FreeIndex& free, DallyTier tier,
                                      GpuTypeId type, GangAsked gang) {
  if (free.room(type, gang.task_gpus) < gang.gpus) return std::nullopt;
  const auto usable = [&](NodeId node) { return whole_tasks(free.on(node), gang.task_gpus); };
  if (tier == DallyTier::kNetwork) {
    const std::optional<NodeRange> section =
        tightest_section(view.cluster, gang.closeness.required, type_bit(type), gang.gpus, usable);
    if (!section) return std::nullopt;
    return DallyPlace{tier, type, *section};
  }
  if (tier == DallyTier::kNode) {
    const NodeId node = free.tightest(type, gang.gpus, free.everywhere());
    if (node.is_none()) return std::nullopt;
    return DallyPlace{tier, type, {node.row(), node.row() + 1}};
  }
  const std::optional<NodeRange> rack =
      tightest_domain(view.cluster, Tier::kRack, type_bit(type), gang.gpus, usable);
  if (!rack) return std::nullopt;
  return DallyPlace{tier, type, *rack};
}

}  // namespace

std::optional<DallyPlace> tightest_place(const View& view, const Plan& plan, DallyTier tier,
                                         GpuTypeId type, GangAsked gang) {
  return tightest_in(view, plan.free(), tier, type, gang);
}

std::optional<DallyPlace> fastest_place(const View& view, const Plan& plan, const JobTiers& tiers,
                                        DallyTier tier, TypeMask types, JobId job) {
  std::optional<DallyPlace> best;
  double fastest = 0;
  const FreeFor free(view, plan, job);
  for (GpuTypeId type : ids<GpuTypeId>(view.cluster.type_names.size())) {
    if ((types & type_bit(type)) == 0 || tiers.rate(type, tier) <= fastest) continue;
    const auto place = tightest_in(view, free.index(), tier, type, gang_asked(view.jobs, job));
    if (!place) continue;
    fastest = tiers.rate(type, tier);
    best = place;
  }
  return best;
}

// A gang that spans racks takes as few as possible.
bool place_there(const View& view, Plan& plan, const DallyPlace& place, JobId job) {
  GangAsked gang = gang_asked(view.jobs, job);
  FreeFor free(view, plan, job);
  while (gang.gpus > 0) {
    const NodeRange range = place.tier == DallyTier::kNetwork
                                ? freest_rack(view, free.index(), place, gang.task_gpus)
                                : place.range;
    const std::uint32_t left = take_in(plan, free, place.type, range, gang);
    if (left == gang.gpus) {  // other resources leave it no room
      plan.drop();
      return false;
    }
    gang.gpus = left;
  }
  return plan.place(job);
}

}  // namespace fairlead
