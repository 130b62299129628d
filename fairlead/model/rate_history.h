// The earlier rates of the current runs of jobs, from which the work in the last part of a run is computed.
//
// Most runs have only one rate; they have no stretch here and cost nothing. Otherwise O(1) per call, and O(changes
// within `lost`) for the work.
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
  // Called when the job's rate changes, with the stretch that ended. REQUIRES: stretches of a run are contiguous.
  void add(JobId job, const Stretch& past);
  // Called when the job's run ends.
  void clear(JobId job);
  // Returns the work that the job did in the last `lost` before present.to. `present`: the stretch after the added
  // ones; it is empty if it does not begin before its end.
  Work done_in_last(JobId job, Duration lost, const Stretch& present) const;

 private:
  IdVector<JobId, std::vector<Stretch>> past_;
  std::vector<std::vector<Stretch>> unused_;  // vectors of ended runs, for reuse
};

}  // namespace fairlead
