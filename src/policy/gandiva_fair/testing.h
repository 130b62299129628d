// For tests of Gandiva_fair's entitlements: a cluster, its users, and options by name.
#pragma once

#include "fairlead/input/cluster_file.h"
#include "fairlead/policy/gandiva_fair/gandiva_fair.h"
#include "testing/world.h"

#include <string>
#include <string_view>
#include <vector>

namespace fairlead {

// Of the policy as it is written on the command line.
inline EntitlementOptions options_of(std::string_view policy) {
  return gandiva_fair_options(options_named(policy)).entitlements;
}

// Debts last so long that nothing is forgotten in a test, for the sake of round figures.
inline EntitlementOptions without_fading(std::string_view policy = "gandiva-fair") {
  EntitlementOptions options = options_of(policy);
  options.memory = hours(1'000'000'000);
  return options;
}

// Users and their entitlements on a cluster.
struct Market {
  Market(std::string_view shorthand, const std::vector<std::int64_t>& tickets,
         const EntitlementOptions& options = without_fading())
      : cluster(*parse_cluster_shorthand(shorthand)), entitlements(options) {
    for (std::size_t i = 0; i < tickets.size(); ++i) {
      users.names.push_back("u" + std::to_string(i));
      users.tickets.push_back(tickets[i]);
    }
    entitlements.begin(users, cluster);
  }

  // The user has `jobs` more jobs, all kept on the type.
  void add(UserId user, GpuTypeId type, std::uint32_t gpus, int jobs = 1) {
    for (int i = 0; i < jobs; ++i) {
      entitlements.add_demand(user, gpus);
      entitlements.keep(user, type, gpus);
    }
  }
  double share(UserId user, GpuTypeId type = GpuTypeId(0)) const {
    return entitlements.share(user, type);
  }

  Cluster cluster;
  Users users;
  Entitlements entitlements;
};

}  // namespace fairlead
