// The tickets of users as they count beside each other if some are in groups. The tickets of a
// group are divided among its users with jobs, in proportion to their own tickets.
//
// For policies that share by tickets alone. Share that a user cannot use goes to all other users,
// not first to its group as in grouped_filling.h. Quotas have no effect.
#pragma once

#include "fairlead/model/jobs.h"

#include <cstdint>

namespace fairlead {

// Fills in `tickets`, a row for each user. `jobs` has the number of present jobs of each user.
// Without groups the result is the users' own tickets. O(users + groups).
void effective_tickets(const Users& users, const IdVector<UserId, std::int64_t>& jobs,
                       IdVector<UserId, double>& tickets);

}  // namespace fairlead
