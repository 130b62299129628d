// The place of a gang within a tier: the domain in which it leaves the fewest GPUs, whole nodes
// first.
//
// Cost: O(1) for a node and the network, O(nodes) for a rack; fill O(slices).
#pragma once

#include "fairlead/policy/dally/tiers.h"
#include "fairlead/policy/kit/placement.h"

#include <optional>

namespace fairlead {

// GPUs of one type within a domain of a tier.
struct DallyPlace {
  DallyTier tier = DallyTier::kNode;
  GpuTypeId type;
  NodeRange range{};
};

// Returns the domain with room for the gang that would have the fewest GPUs of the type left over
// that such tasks could use; none if no domain has room.
std::optional<DallyPlace> tightest_place(const View& view, const Plan& plan, DallyTier tier,
                                         GpuTypeId type, GangAsked gang);
// Returns a place on one of the tier's types: the type with room on which the job has the least
// time left.
std::optional<DallyPlace> fastest_place(const View& view, const Plan& plan, const JobTiers& tiers,
                                        DallyTier tier, TypeMask types, JobId job);

// Gives the job its gang there: whole nodes, the freest first, and the rest on the tightest node
// with room. Across racks, it takes as much as possible of the freest rack first. REQUIRES: the
// place has room by its GPUs; the job has no GPUs in the draft. Returns Plan::place(), or false if other resources leave
// no room.
bool place_there(const View& view, Plan& plan, const DallyPlace& place, JobId job);

}  // namespace fairlead
