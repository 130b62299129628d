// Starts and waits beside those in the log of the original scheduler, over finished jobs whose start it has. O(1) a call.
// Source: ours.
#pragma once

#include "fairlead/base/ids.h"
#include "fairlead/base/units.h"
#include "fairlead/metrics/job_table.h"
#include "fairlead/metrics/summary.h"
#include "fairlead/model/job_spec.h"

namespace fairlead {

class LoggedStarts {
 public:
  void arrive(const JobSpec& asked);
  // Adds a job that has finished. Ignores a job whose start the log does not have.
  void finish(const JobTable& jobs, JobId job);
  LoggedSummary summary() const;

 private:
  LoggedSummary counts_;         // without its means
  IdVector<JobId, Time> start_;  // never: unknown; the rows end with the last known one
  Duration wait_, wait_here_;    // sums over the counted jobs: in the log, and here
};

}  // namespace fairlead
