// A drawn world with users in groups, one of them with a quota.
#pragma once

#include "testing/world.h"

#include <algorithm>

namespace fairlead {

// Users u0 and u1 are in a group with a quota that hardly exceeds their largest gang; u2 is in a
// group of its own.
inline World in_groups(World world) {
  std::int64_t largest = 1;
  for (const WorldJob& job : world.jobs) largest = std::max<std::int64_t>(largest, job.gpus);
  for (WorldJob& job : world.jobs) {
    if (job.user == "u0" || job.user == "u1") {
      job.group = "lab";
      job.group_tickets = 2;
      job.group_quota = largest + 1;
    } else if (job.user == "u2") {
      job.group = "alone";
    }
  }
  return world;
}

// Returns the policies that know groups.
inline std::vector<std::string> grouping_policies() {
  return {"gandiva-fair:quantum_s=5", "gandiva-fair:quantum_s=5,turns=stride", "gang-stride",
          "stride", "fairlead:round_s=5,window_s=12"};
}

}  // namespace fairlead
