// Crowding: how fast jobs are where they are, and would be elsewhere, with the links shared as a
// draft has them. Where gangs share no link, or policies are not told of it
// (KnownSpeed::shared_links), every speed is what the gang has alone.
//
//   crowding.begin(view, plan);
//   plan.place(job);
//   if (crowding.speed_at(view, job, plan.gang(job)) > 0.5) crowding.placed(view, plan, job);
//
// Speeds are fractions of what the gang has alone. Cost: begin O(slices held), in a few counters;
// the rest as model/uplinks.h.
#pragma once

#include "fairlead/model/uplinks.h"
#include "fairlead/policy/plan.h"
#include "fairlead/policy/policy.h"

#include <optional>

namespace fairlead {

class Crowding {
 public:
  // The draft as it is, before a decision changes it: what runs in the view.
  void begin(const View& view, const Plan& plan);
  // Whether anything is shared.
  bool is_seen() const { return is_seen_; }

  // To be told of every gang that the decision places and stops; the second in any order with
  // Plan::stop. REQUIRES: begin().
  void placed(const View& view, const Plan& plan, JobId job);
  void stopped(JobId job);

  // Of a job that holds a gang.
  double speed(JobId job) const { return is_seen_ ? uplinks_->speed(job) : 1; }
  // Of a job that is not counted as holding one, on that gang.
  double speed_at(const View& view, JobId job, Gang gang);
  // What those who are there would lose if it came: GPUs x fraction of its speed of each.
  double loss_of_others(const View& view, JobId job, Gang gang);

 private:
  // Rebuilt where the cluster has grown.
  std::optional<Uplinks> uplinks_;
  std::size_t hosts_ = 0;
  std::size_t racks_ = 0;
  bool is_seen_ = false;
};

}  // namespace fairlead
