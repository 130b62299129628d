// Why a placement finds no place for a gang: for messages and notes, not for decisions.
//
//   why_no_place(Placement::kRack, view.cluster, plan.free(), gpus, types).text
//     "needs 6 GPUs; 9 are free, but at most 5 in one rack"
#pragma once

#include "fairlead/model/free_index.h"
#include "fairlead/policy/kit/placement.h"

#include <cstdint>
#include <string>

namespace fairlead {

enum class Misfit : std::uint8_t {
  kNone,        // it fits
  kTooFew,      // not enough GPUs are free
  kOtherTypes,  // enough are free, but not of its types
  kManyTypes,   // enough of its types, but not of one type
  kManyNodes,   // enough of one type, but scattered over nodes
  kManyRacks,   // enough of one type, but scattered over racks
};

struct NoPlace {
  Misfit why = Misfit::kNone;
  // It would not fit either if every node were up and idle; `why` is then about that cluster.
  bool never = false;
  std::string text;
};

// Why place() would refuse a gang of `gpus` GPUs of these types where that much is free. O(nodes)
// and a placement or two. REQUIRES: gpus > 0.
NoPlace why_no_place(Placement placement, const Cluster& cluster, const FreeIndex& free,
                     std::uint32_t gpus, TypeMask types);

}  // namespace fairlead
