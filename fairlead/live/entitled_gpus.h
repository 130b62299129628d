// Entitlements of users at one moment, for the API of daemons.
#pragma once

#include "fairlead/engine/tables.h"

#include <string>

namespace fairlead {

// Returns each user's entitlement now, in GPUs. The GPUs that jobs can use are divided by tickets, groups and quotas.
// No user gets more than its running and waiting jobs request. The figures of a run have the same shares over time
// (solve/share_meter.h). O((users + jobs) log users).
IdVector<UserId, double> entitled_gpus(const Tables& tables);

// Returns "ann has 2 tickets, is entitled to 1.33 of 4 GPUs now, and has 1 GPU."
std::string entitlement_sentence(const Tables& tables, UserId user);

}  // namespace fairlead
