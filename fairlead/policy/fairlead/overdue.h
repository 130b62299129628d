// Overdue: the jobs that have waited so long that they come first among their user's jobs for a turn (ours).
//
// Each user has at most one such job at a time; those that have waited long enough are tried in turn, one per round. Jobs
// that have run before are tried before the others. A job that has not run is tried only if it is a larger gang than any
// that has, so that a long queue stays a queue: its jobs are not all started at once and suspended.
//
// Cost: begin O(jobs), comes_first O(1); 8 bytes per job.
#pragma once

#include "fairlead/base/archive.h"
#include "fairlead/base/ids.h"
#include "fairlead/base/units.h"
#include "fairlead/policy/policy.h"

#include <algorithm>
#include <cstdint>
#include <optional>

namespace fairlead {

class Overdue {
 public:
  // `patience`: how long a job waits; none: forever. `turn`: how long it then comes first.
  Overdue(std::optional<Duration> patience, Duration turn) : patience_(patience), turn_(turn) {}

  // Starts a round: chooses the job of each user that comes first.
  void begin(const View& view);
  // Returns whether the job comes first. As of the last begin().
  bool comes_first(const View& view, JobId job) const {
    const UserId user = view.jobs.user[job];
    return users_.has(user) && users_[user].comes_first && users_[user].job == job;
  }

  void fields(Archive& archive) { archive(last_ran_, users_); }

 private:
  struct Turn {
    JobId job;  // the job that was tried last; none: no job was
    bool comes_first = false;
    void fields(Archive& archive) { archive(job, comes_first); }
  };

  bool has_turn(const View& view, JobId job) const {
    return view.jobs.state[job] == JobState::kRunning &&
           view.now - view.jobs.run_since[job] < turn_;
  }
  Time waits_since(const View& view, JobId job) const {
    return last_ran_.has(job) ? std::max(last_ran_[job], view.jobs.arrival[job])
                              : view.jobs.arrival[job];
  }

  const std::optional<Duration> patience_;
  const Duration turn_;
  // The last round in which the job ran; 0: none. Ends with such a job.
  IdVector<JobId, Time> last_ran_;
  IdVector<UserId, Turn> users_;

  // State of begin().
  IdVector<UserId, std::uint32_t> largest_;  // GPUs of the largest gang that has run
  IdVector<UserId, JobId> next_;
};

}  // namespace fairlead
