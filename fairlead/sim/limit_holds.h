// Jobs that limits hold back in the simulated world (model/job_limits.h).
//
// A job counts from its start to its end, as under Slurm. A policy may start all jobs that it knows at once, so jobs that
// have not started are released only as far as they fit together: first those for which GPUs are free now, then the
// others, each by arrival. One that does not fit is passed. The choice is made again when jobs arrive, start, stop and
// end, so a job that waits for GPUs keeps no other back. A job that has started is not held again.
// Source: ours, of the rule in https://slurm.schedmd.com/resource_limits.html.
#pragma once

#include "fairlead/model/cluster.h"
#include "fairlead/model/event.h"
#include "fairlead/model/job_limits.h"
#include "fairlead/model/jobs.h"

#include <cstdint>
#include <utility>
#include <vector>

namespace fairlead {

class LimitHolds {
 public:
  // `gpus_of`: the GPUs that each job counts for; 0: it has no limit. `cluster` and `asked`, of which the asked columns
  // are read, must outlive the object.
  LimitHolds(const Cluster& cluster, const Jobs& asked, LimitedJobs limited,
             IdVector<JobId, std::uint32_t> gpus_of);
  LimitHolds(LimitHolds&&) = delete;
  LimitHolds& operator=(LimitHolds&&) = delete;
  ~LimitHolds() = default;

  // A run of the job, or of a copy of it, begins, and a run ends. A run that begins counts the job until finish().
  // REQUIRES: the job is released.
  void begin_run(JobId job, Gang gang);
  void end_run(Gang gang);
  void finish(JobId job);
  // Called after the runs of a decision began and ended.
  void decide(Time now);
  // Returns when the choice changes although nothing else happens; never: it does not.
  Time next() const { return next_; }
  // Takes the arrivals among the events of an instant, and adds the holds and releases of the instant.
  // O(limited jobs that have not started, limits, nodes).
  void add_to(std::vector<Event>& events);

 private:
  enum class State : std::uint8_t { kAway, kReleased, kHeld, kStarted };
  struct Changes {
    std::vector<JobId> held;
    std::vector<JobId> released;
    bool any() const { return !held.empty() || !released.empty(); }
  };

  bool is_limited(JobId job) const { return !limited_.of_job[job].empty(); }
  bool has_gpus(JobId job) const;
  Changes changes() const;

  const Cluster& cluster_;
  const Jobs& asked_;
  const LimitedJobs limited_;
  const IdVector<JobId, std::uint32_t> gpus_of_;
  LimitRoom room_;              // that started jobs leave
  std::vector<JobId> waiting_;  // limited jobs that have not started, by arrival
  IdVector<JobId, State> states_;
  IdVector<NodeId, std::uint32_t> used_;  // GPUs of gangs
  Time next_ = Time::never();
};

}  // namespace fairlead
