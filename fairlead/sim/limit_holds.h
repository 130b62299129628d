// Jobs that limits hold back in the simulated world (model/job_limits.h).
//
// A job counts from its release to its end, whether it runs or waits, because a policy may start all jobs that it knows
// at once. At its arrival, and whenever a job of one of its limits ends, a job is released if it fits. Held jobs are
// tried in the order of their arrivals; one that fits passes one that does not. Source: ours; passing as in Slurm
// (https://slurm.schedmd.com/resource_limits.html), where a job counts from its start.
#pragma once

#include "fairlead/model/job_limits.h"

#include <cstdint>
#include <set>
#include <utility>
#include <vector>

namespace fairlead {

class LimitHolds {
 public:
  // `gpus_of`: the GPUs that each job counts for; 0: it has no limit.
  LimitHolds(LimitedJobs jobs, IdVector<JobId, std::uint32_t> gpus_of);
  LimitHolds(LimitHolds&&) = delete;
  LimitHolds& operator=(LimitHolds&&) = delete;
  ~LimitHolds() = default;

  // Returns whether the job is released; if not, it is held. REQUIRES: called once per job. O(log held).
  bool arrive(JobId job);
  // Returns the jobs that are released when that one ends, by id; valid until the next call. REQUIRES: it was released.
  // O(held jobs of its limits, and their sorting).
  const std::vector<JobId>& end(JobId job);

 private:
  using Place = std::pair<std::uint64_t, JobId>;  // in the order of arrivals

  bool take(JobId job);
  void release(Place place);

  const LimitedJobs jobs_;
  const IdVector<JobId, std::uint32_t> gpus_of_;
  LimitRoom room_;
  std::uint64_t arrived_ = 0;
  std::vector<std::set<Place>> held_;  // by limit
  std::vector<Place> candidates_;
  std::vector<JobId> released_;
};

}  // namespace fairlead
