// Holes on nodes where all jobs fit: each is too small for those that wait elsewhere, two together may
// be large enough (Gandiva_fair; ours).
#pragma once

#include "fairlead/policy/gandiva_fair/move.h"

namespace fairlead {

// The move of one job of the GPU type that best makes one larger hole of two, counting a hole by the
// square of its size; none if no move does. O(jobs on nodes with holes).
Move join_holes(const Homes& homes, const CoolDown& cool_down, Time now, GpuTypeId type);

}  // namespace fairlead
