// Entitlements of users at one moment, for the answers of daemons.
#pragma once

#include "fairlead/engine/tables.h"

#include <string>

namespace fairlead {

// Returns the GPUs that each user is entitled to now: by tickets, groups and quotas, and at most what
// its running and waiting jobs ask for, of the GPUs that jobs can use. Figures of a run have the same
// shares over time (solve/share_meter.h). O((users + jobs) log users).
IdVector<UserId, double> entitled_gpus(const Tables& tables);

// "ann has 2 tickets: 1.33 of 4 GPUs by entitlement now, and holds 1 GPU."
std::string entitlement_sentence(const Tables& tables, UserId user);

}  // namespace fairlead
