// Crowding: the speeds of jobs on their gangs, and on other gangs, with the network links shared as
// in a draft. If gangs share no link, or policies do not know it (KnownSpeed::shared_links), each
// gang has the speed that it would have alone.
//
//   crowding.begin(view, plan);
//   plan.place(job);
//   if (crowding.speed_at(view, job, plan.gang(job)) > 0.5) crowding.placed(view, plan, job);
//
// Speeds are fractions of the speed that the gang has alone. Cost: begin O(slices in use), in a few
// counters; the rest as in model/uplinks.h.
#pragma once

#include "fairlead/model/uplinks.h"
#include "fairlead/policy/plan.h"
#include "fairlead/policy/policy.h"

#include <optional>

namespace fairlead {

class Crowding {
 public:
  // Reads the draft before a decision changes it: the running jobs of the view.
  void begin(const View& view, const Plan& plan);
  // Returns true if any link is shared.
  bool is_seen() const { return is_seen_; }

  // To be called for every gang that the decision places or stops; stopped() in any order with
  // Plan::stop. REQUIRES: begin().
  void placed(const View& view, const Plan& plan, JobId job);
  void stopped(JobId job);

  // Returns the speed of a job that has a gang.
  double speed(JobId job) const { return is_seen_ ? uplinks_->speed(job) : 1; }
  // Returns the speed on that gang of a job that is not counted as having one.
  double speed_at(const View& view, JobId job, Gang gang);
  // Returns the loss of the other jobs if the job came: the sum of GPUs x fraction of speed.
  double loss_of_others(const View& view, JobId job, Gang gang);

 private:
  // Rebuilt when the cluster has grown.
  std::optional<Uplinks> uplinks_;
  std::size_t hosts_ = 0;
  std::size_t racks_ = 0;
  bool is_seen_ = false;
};

}  // namespace fairlead
