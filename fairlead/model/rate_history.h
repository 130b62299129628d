// The rates at which jobs ran earlier in their holds, from which the work of a hold's last stretch
// follows.
//
// A hold whose rate never changes, by far the most frequent one, has no stretch here and costs
// nothing. Otherwise O(1) per call, and O(changes within `lost`) for the work.
#pragma once

#include "fairlead/base/ids.h"
#include "fairlead/base/units.h"

#include <vector>

namespace fairlead {

class RateHistory {
 public:
  struct Stretch {
    Time from;
    Time to;
    Rate rate;
  };
  // The job's rate changes: `past` is over. REQUIRES: stretches of a hold follow one another.
  void add(JobId job, const Stretch& past);
  // The job's hold is over.
  void clear(JobId job);
  // Work that the job did in the last `lost` before present.to. `present`: what follows the
  // stretches added; empty if it does not begin before its end.
  Work done_in_last(JobId job, Duration lost, const Stretch& present) const;

 private:
  IdVector<JobId, std::vector<Stretch>> past_;
  std::vector<std::vector<Stretch>> unused_;  // of holds that are over
};

}  // namespace fairlead
