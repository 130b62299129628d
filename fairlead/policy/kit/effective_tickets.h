// The tickets of users as they count beside each other where some stand in groups: those of a group
// are divided among its users that have jobs, in proportion to their own tickets.
//
// For policies that share by tickets alone. What a user cannot use goes to all others, not to its group
// first as in grouped_filling.h, and quotas bound nothing.
#pragma once

#include "fairlead/model/jobs.h"

#include <cstdint>

namespace fairlead {

// Fills in `tickets`, a row for each user; `jobs`: of each user, those that are here. Without groups
// these are the users' own. O(users + groups).
void effective_tickets(const Users& users, const IdVector<UserId, std::int64_t>& jobs,
                       IdVector<UserId, double>& tickets);

}  // namespace fairlead
