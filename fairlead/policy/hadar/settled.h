// SettledJobs: counts the jobs that run on the fastest gang they could have (ours).
//
// A round in which every job is settled changes nothing, at any weights: a bid for another gang is worth
// no more than the bid for the present gang. An auction skips such a round.
//
// A settled job runs as one copy, on the GPUs that it asks for and could not have more or fewer of, at the
// highest rate of all types and tiers.
//
// update: O(types x tiers + slices) for each job that changed; for all jobs if speeds changed.
#pragma once

#include "fairlead/policy/kit/changed_jobs.h"
#include "fairlead/policy/policy.h"

#include <cstdint>
#include <span>

namespace fairlead {

class SettledJobs {
 public:
  // Counts jobs with news again, and the jobs that the plan placed or stopped since the last call
  // (`edited`).
  void update(const View& view, const Plan& plan, std::span<const JobId> edited);
  // Reports whether every job that waits or runs is settled. As of the last update.
  bool all(const View& view) const {
    return settled_ == view.running.size() && view.waiting.empty();
  }

 private:
  void set(const View& view, const Plan& plan, JobId job);
  static bool is_settled(const View& view, const Plan& plan, JobId job);

  IdVector<JobId, std::uint8_t> is_settled_;
  std::size_t settled_ = 0;
  ChangedJobs changed_;
};

}  // namespace fairlead
