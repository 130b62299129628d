// What a policy's name and options say of how its jobs wait: where a gang must fit, and when the policy
// decides. A policy that this program does not know places anywhere, at any time.
#pragma once

#include "fairlead/policy/kit/placement.h"

#include <string_view>

namespace fairlead {

struct Habits {
  // Of gangs that one node cannot have, or of all.
  Placement placement = Placement::kCount.mixing();
  bool one_node = false;       // a gang that one node can have goes to one node
  bool one_type = false;       // a gang has GPUs of one type
  bool smallest = false;       // a job starts with its smallest gang if need be
  bool goes_home = false;      // a job that was stopped waits for the GPUs that it had
  bool one_at_a_time = false;  // one job has the whole cluster
  Duration near{};   // for which a job insists on one node, and as long again on one rack; 0: never
  Duration round{};  // at most that long after GPUs are free they are given out; 0: at once
};

// `options` as a Run record has them.
Habits habits_of(std::string_view policy, std::string_view options);

}  // namespace fairlead
