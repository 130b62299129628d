// SpeedInputs: reports whether anything changed that the speeds of all jobs depend on (ours).
//
// Policies that keep a figure per job, and update it for jobs with news, compute all figures again after
// such a change. It is derived from the view, so a policy does not save it.
//
// changed: O(types).
#pragma once

#include "fairlead/policy/policy.h"

#include <cstdint>
#include <vector>

namespace fairlead {

class SpeedInputs {
 public:
  // Returns true in the first call, and if measured speeds or the GPUs of a type that are up changed since
  // the last.
  bool changed(const View& view, const Plan& plan);

 private:
  std::uint64_t revision_ = 0;
  std::vector<std::uint32_t> capacity_;  // GPUs up, by type; empty before the first call
};

}  // namespace fairlead
