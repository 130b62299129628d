// Crowds: jobs of one node of which too many must take turns. Either nothing runs beside them or
// they are due all of the time (Gandiva_fair; ours).
//
// Balancing weighs the gain of a move against its cost, for all jobs alike. A crowded job can never
// make up for its loss, so crowds are parted whatever the cost to other jobs.
#pragma once

#include "fairlead/policy/gandiva_fair/home_choice.h"
#include "fairlead/policy/gandiva_fair/move.h"

namespace fairlead {

// If spread jobs together are due more than all of a node's time: returns the move of the first of
// these jobs for which other nodes avoid that. None if there is no such move. Valid until the next
// call of `choice`. O(spread jobs x their nodes), and finding slices for crowded jobs.
Move part_crowd(const View& view, const Homes& homes, HomeChoice& choice,
                const CoolDown& cool_down);

// If jobs that are due all of the time need more GPUs than their node has: returns the move of the
// first of these jobs for which a node of its type has room beside its own such jobs. Among such
// nodes it chooses the lowest cost to the other jobs. None if there is no such move. REQUIRES:
// contended nodes are refreshed; others may be on the way. O(jobs of contended nodes), and for each
// crowded job O(jobs of its type's nodes).
Move part_steady(const View& view, Homes& homes, const CoolDown& cool_down);

}  // namespace fairlead
