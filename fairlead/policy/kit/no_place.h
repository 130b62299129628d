// Why a placement finds no place for a gang: for messages and notes, not for decisions.
//
//   why_no_place(Placement::kRack, view.cluster, plan.free(), gang, types).text
//     "needs 6 GPUs; 9 are free, but at most 5 in one rack"
//     "needs 2 tasks of 8 GPUs; 12 are free, but only one node has 8"
#pragma once

#include "fairlead/model/free_index.h"
#include "fairlead/policy/kit/placement.h"
#include "fairlead/policy/placement_traits.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace fairlead {

enum class Misfit : std::uint8_t {
  kNone,          // it fits
  kTooFew,        // not enough GPUs are free
  kOtherTypes,    // enough are free, but not of its types
  kFewTasks,      // enough of its types, but not on nodes that have room for whole tasks
  kManyTypes,     // enough of its types, but not of one type
  kManyNodes,     // enough of one type, but scattered over nodes
  kManyRacks,     // enough of one type, but scattered over racks
  kManySections,  // enough of one type, but not within the level that it requires
};

struct NoPlace {
  Misfit why = Misfit::kNone;
  // It would not fit either if every node were up and idle; `why` is then about that cluster.
  bool never = false;
  std::string text;
};

// Returns why place() would refuse such a gang of these types with these GPUs free. O(nodes), and one
// or two placements. REQUIRES: gang.gpus > 0.
NoPlace why_no_place(Placement placement, const Cluster& cluster, const FreeIndex& free,
                     GangAsked gang, TypeMask types);

// Returns why a policy of these traits never places such a gang of these types, even if every node is
// up and idle; empty: it may. The reasons are few and fixed, for counting. O(nodes) and a placement.
// REQUIRES: gang.gpus > 0.
std::string_view why_never_placed(const PlacementTraits& traits, const Cluster& cluster,
                                  GangAsked gang, TypeMask types);
// The same if tasks can use only these GPUs of the idle cluster (limited_gpus).
std::string_view why_never_placed(const PlacementTraits& traits, const Cluster& cluster,
                                  GangAsked gang, TypeMask types, const LimitedGpus& idle);

}  // namespace fairlead
