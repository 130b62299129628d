// A few facts on how a policy places gangs and when it decides. They serve the check whether a gang
// could ever have a place (kit/no_place.h), and the explanations of waits (explain/).
#pragma once

#include "fairlead/base/units.h"
#include "fairlead/policy/kit/placement.h"

#include <optional>

namespace fairlead {

struct PlacementTraits {
  // The placement of gangs that do not fit one node, or of all gangs.
  Placement placement = Placement::kCount.mixing();
  bool one_node = false;       // a gang that fits one node goes to one node
  bool one_type = false;       // a gang has GPUs of one type
  bool smallest = false;       // a job starts with its smallest gang if need be
  bool goes_home = false;      // a job that was stopped waits for the GPUs that it had
  bool one_at_a_time = false;  // one job has the whole cluster
  Duration near{};   // for which a job insists on one node, and as long again on one rack; 0: never
  Duration round{};  // the longest time from free GPUs to the next decision; 0: at once
  // The wait after which a job comes first among its user's jobs, if it has run or is larger than their gangs that ran;
  // none: no job does.
  std::optional<Duration> job_patience{};
};

}  // namespace fairlead
