// Turns of a gang in place: its pods stay on their GPUs, frozen, while others run there (pods/slots.h).
//
//   to rest:  freeze its pods; it has stopped once their agents say that each is frozen
//   to run:   once the GPUs run no other pod, thaw all of its pods; it has started once their agents
//             say so
//
// As with PodGang, what to ask for follows from what the API server shows.
#pragma once

#include "fairlead/pods/gang.h"
#include "fairlead/pods/residents.h"

#include <vector>

namespace fairlead {

// Its pods all run on nodes, with GPUs that were given to them, so it can rest there and go on. With
// `where`: they are there.
bool is_resident(const PodGang& gang);
bool is_resident(const PodGang& gang, const std::vector<GangPlace>& where);

// All of its pods are frozen, and stay so.
bool rests(const PodGang& gang, const Residents& residents);
// All of its pods run.
bool is_thawed(const PodGang& gang);
// All of them were last wished to run, though they may not do so yet.
bool is_to_run(const PodGang& gang);

std::vector<GangAct> acts_to_rest(const PodGang& gang, const Residents& residents);
// Nothing while other pods run on its GPUs.
std::vector<GangAct> acts_to_thaw(const PodGang& gang, const Residents& residents);

}  // namespace fairlead
