// Turns of a gang in place: its pods stay on their GPUs, frozen, while others run there (pods/slots.h).
//
//   to rest:  freeze its pods; it has stopped once their agents report each as frozen
//   to run:   once no other pod runs on the GPUs, thaw all of its pods; it has started once their
//             agents report each as thawed
//
// As in PodGang, the calls follow from the objects that the API server shows.
#pragma once

#include "fairlead/pods/gang.h"
#include "fairlead/pods/residents.h"

#include <vector>

namespace fairlead {

// Returns whether all of its pods run on nodes with GPUs chosen by the scheduler, so the gang can rest
// there and continue. With `where`: whether they are in these places.
bool is_resident(const PodGang& gang);
bool is_resident(const PodGang& gang, const std::vector<GangPlace>& where);

// Returns whether all of its pods are frozen, and stay so.
bool rests(const PodGang& gang, const Residents& residents);
// Returns whether all of its pods run.
bool is_thawed(const PodGang& gang);
// Returns whether all of its pods were last ordered to run; they may not run yet.
bool is_to_run(const PodGang& gang);

std::vector<GangAct> acts_to_rest(const PodGang& gang, const Residents& residents);
// Returns nothing while other pods run on its GPUs.
std::vector<GangAct> acts_to_thaw(const PodGang& gang, const Residents& residents);

}  // namespace fairlead
