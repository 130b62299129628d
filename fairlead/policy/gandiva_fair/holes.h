// Holes on nodes where all jobs fit: each hole is too small for the jobs that wait elsewhere, but
// two together may be large enough (Gandiva_fair; ours).
#pragma once

#include "fairlead/policy/gandiva_fair/move.h"

namespace fairlead {

// Returns the move of a job of the GPU type that best makes one larger hole of two; a hole counts
// by the square of its size. None if no move does. O(jobs on nodes with holes).
Move join_holes(const View& view, const Homes& homes, const CoolDown& cool_down, GpuTypeId type);

}  // namespace fairlead
