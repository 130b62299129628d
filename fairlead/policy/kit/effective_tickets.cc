#include "fairlead/policy/kit/effective_tickets.h"

namespace fairlead {

void effective_tickets(const Users& users, const IdVector<UserId, std::int64_t>& jobs,
                       IdVector<UserId, double>& tickets) {
  tickets.resize(users.size());
  IdVector<GroupId, double> in_group(users.groups.size());
  for (UserId user : ids<UserId>(users.size())) {
    tickets[user] = static_cast<double>(users.tickets[user]);
    const GroupId group = users.group_of(user);
    if (!group.is_none() && jobs[user] > 0) in_group[group] += tickets[user];
  }
  for (UserId user : ids<UserId>(users.size())) {
    const GroupId group = users.group_of(user);
    if (group.is_none() || jobs[user] == 0) continue;
    tickets[user] *= static_cast<double>(users.groups.tickets[group]) / in_group[group];
  }
}

}  // namespace fairlead
