// Crowds: jobs of one node of which too many must take turns, as nothing runs beside them or they are
// due all of the time (Gandiva_fair; ours).
//
// Balancing weighs what a move gains here against what it costs there, for all jobs alike. These jobs
// lose what they can never make up for, so they are parted whatever it costs the others.
#pragma once

#include "fairlead/policy/gandiva_fair/home_choice.h"
#include "fairlead/policy/gandiva_fair/move.h"

namespace fairlead {

// Where spread jobs are together due more than all of a node's time, the move of the first of them
// that finds nodes where that is not so; none if there is none. Valid until `choice` is asked again.
// O(spread jobs x their nodes), and finding slices for those that are crowded.
Move part_crowd(const View& view, const Homes& homes, HomeChoice& choice,
                const CoolDown& cool_down);

// Where jobs that are due all of the time want more GPUs than their node has, the move of the first of
// them that finds a node of its type where it and those there do not; of such nodes the one where it
// costs the others the least. None if there is none. REQUIRES: contended nodes are refreshed; others
// may be on the way. O(jobs of contended nodes), and for each job that is crowded O(jobs of its type's
// nodes).
Move part_steady(const View& view, Homes& homes, const CoolDown& cool_down);

}  // namespace fairlead
