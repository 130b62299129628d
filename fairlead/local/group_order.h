// Which jobs may start within the limits of groups: the GPUs that the jobs of all users of a group may have at once.
//
// It follows the order of each user (engine/start_order.h), and is a hold as well
// (docs/decisions/0061-limits-of-groups.md).
#pragma once

#include "fairlead/engine/start_order.h"
#include "fairlead/model/job_limits.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace fairlead {

// The jobs of one user that the user's own order does not hold back.
struct GroupedUser {
  std::vector<OrderedJob> jobs{};
  std::vector<std::size_t> groups{};  // positions of the user's groups among the limits
};

// Returns the jobs that must not have GPUs now.
//
// Released jobs come first, by number. Then the user with the fewest GPUs so far comes next; of several, the one
// with the older job. Jobs of one user keep their order. None passes a job that a limit of its own group holds back.
// O(jobs x users), and the sorting.
std::map<JobId, StartBlock> group_order(std::vector<GroupedUser> users,
                                        std::span<const JobLimit> limits);

}  // namespace fairlead
