#include "fairlead/live/entitled_gpus.h"

#include "fairlead/base/counted.h"
#include "fairlead/solve/share_meter.h"

#include <fmt/format.h>

#include <bit>

namespace fairlead {

IdVector<UserId, double> entitled_gpus(const Tables& tables) {
  const Users& users = tables.users;
  ShareMeter shares;
  for (GroupId group : ids<GroupId>(users.groups.size())) {
    shares.add_group(users.groups.tickets[group], users.groups.quota[group]);
  }
  for (UserId user : ids<UserId>(users.size())) {
    shares.add_user(users.tickets[user], users.group_of(user));
  }
  std::int64_t gpus = 0;
  for (const Tables::NodeState& node : tables.nodes) gpus += std::popcount(node.usable());
  shares.set_gpus(Time{}, gpus);
  for (const JobSet* jobs : {&tables.running, &tables.waiting}) {
    for (JobId job : jobs->members()) {
      shares.add_demand(Time{}, tables.jobs.user[job], tables.jobs.gpus[job]);
    }
  }
  IdVector<UserId, double> entitled;
  for (UserId user : ids<UserId>(users.size())) entitled.push_back(shares.share(user));
  return entitled;
}

std::string entitlement_sentence(const Tables& tables, UserId user) {
  std::uint64_t allocated = 0;
  for (JobId job : tables.running.members()) {
    if (tables.jobs.user[job] == user) allocated += tables.jobs.allocated_gpus[job];
  }
  const auto tickets = static_cast<std::uint64_t>(tables.users.tickets[user]);
  return fmt::format("{} has {}, is entitled to {:.2f} of {} now, and has {}.",
                     tables.users.names[user], counted(tickets, "ticket"),
                     entitled_gpus(tables)[user], counted(tables.cluster.gpus, "GPU"),
                     counted(allocated, "GPU"));
}

}  // namespace fairlead
