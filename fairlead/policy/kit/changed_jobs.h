// ChangedJobs: the jobs whose figure a policy must compute again (ours).
//
// A policy that keeps a figure per job, by its state, gang and speeds, calls update() with every view. The
// figures follow from the view and the plan, so a policy does not save them.
//
// update: O(types + news + edited) calls of `set`; O(jobs) if speeds or capacities changed.
#pragma once

#include "fairlead/policy/policy.h"

#include <cstdint>
#include <span>
#include <vector>

namespace fairlead {

// Reports changes of measured speeds, and of the GPUs of a type that are up.
class ChangedSpeeds {
 public:
  // Returns true in the first call, and if something changed since the last call. O(types).
  bool update(const View& view, const Plan& plan);

 private:
  std::uint64_t revision_ = 0;
  std::vector<std::uint32_t> capacity_;  // GPUs up, by type; empty before the first call
};

class ChangedJobs {
 public:
  // Calls set(job) for each job with news, and for each of `edited`: the jobs that the plan placed or
  // stopped since the last call. In the first call, and if measured speeds or the GPUs of a type that are
  // up changed: calls reset(), and then set(job) for each job that runs or waits.
  template <class Reset, class Set>
  void update(const View& view, const Plan& plan, std::span<const JobId> edited, const Reset& reset,
              const Set& set) {
    if (speeds_.update(view, plan)) {
      reset();
      for (JobId job : view.running) set(job);
      for (JobId job : view.waiting) set(job);
      return;
    }
    for (const Event& event : view.news) {
      if (!event.job.is_none()) set(event.job);
    }
    for (JobId job : edited) set(job);
  }

 private:
  ChangedSpeeds speeds_;
};

}  // namespace fairlead
