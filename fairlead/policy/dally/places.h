// Where a gang goes within a tier: into the domain that it leaves the fewest GPUs of, whole nodes
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

// The domain with room for the gang that would have the fewest GPUs of the type left over that such
// tasks could use; none if no domain has room.
std::optional<DallyPlace> tightest_place(const View& view, const Plan& plan, DallyTier tier,
                                         GpuTypeId type, GangAsked gang);
// Of the tier's types, the one on which the job has the least time left among those with room.
std::optional<DallyPlace> fastest_place(const View& view, const Plan& plan, const JobTiers& tiers,
                                        DallyTier tier, TypeMask types, JobId job);

// Gives the job its gang there: whole nodes, the freest first, and what is left on the tightest node
// with room; across racks, as much as there is of the freest of them. REQUIRES: the place has room; the job holds nothing in the draft.
void place_there(const View& view, Plan& plan, const DallyPlace& place, JobId job);

}  // namespace fairlead
