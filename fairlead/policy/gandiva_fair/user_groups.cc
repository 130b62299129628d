#include "fairlead/policy/gandiva_fair/user_groups.h"

namespace fairlead {

void UserGroups::set(const Users& users, std::int64_t divisor, const KeptGangs& kept) {
  const Groups& groups = users.groups;
  tickets_.clear();
  quota_.clear();
  for (GroupId group : ids<GroupId>(groups.size())) {
    const std::int64_t tickets = groups.tickets[group] / divisor;
    tickets_.push_back(static_cast<double>(tickets));
    const std::int64_t quota = groups.quota[group];
    quota_.push_back(quota == 0 ? kNoQuota : static_cast<double>(quota));
  }
  group_.clear();
  kept_.assign(groups.size(), 0);
  for (UserId user : ids<UserId>(users.size())) {
    const GroupId group = users.group_of(user);
    group_.push_back(group.is_none() ? kNone : group.row());
    if (user.row() < kept.users()) keep(user, kept.gpus(user));
  }
}

}  // namespace fairlead
