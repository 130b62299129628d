// TotalWork: the work of every job that is here, as it was when the job arrived. The oracle says
// only what is left of it.
#pragma once

#include "fairlead/policy/policy.h"

namespace fairlead {

class TotalWork {
 public:
  // Learns of jobs that arrived and forgets those that ended. To be called once in every decision.
  // REQUIRES: needs().remaining_work. O(news).
  void apply_news(const View& view);
  // Running time on the job's reference gang. REQUIRES: the job waits or runs.
  Duration of(JobId job) const { return total_[job]; }

  void save(Writer& writer) const;
  void load(Reader& reader);

 private:
  IdVector<JobId, Duration> total_;  // zero: the job is not here
};

}  // namespace fairlead
