// QueuePolicy: the non-preemptive policies. Waiting jobs are in one order and start when GPUs
// become free; a running job keeps its gang to the end.
//
// A job's place in the order is fixed when it arrives. A job that loses its gang with a node is put
// back by the same rule, so under FIFO it returns to its old place.
//
// Cost of a decision: O(news + started jobs x classes), whatever the number of waiting jobs.
#pragma once

#include "fairlead/policy/kit/class_queue.h"
#include "fairlead/policy/placement_traits.h"

#include <memory>

namespace fairlead {

enum class OnMisfit : std::uint8_t {
  kStop,  // a job that finds no room blocks all later ones, unless the idle cluster is too small
          // for it (has_types_for)
  kSkip,  // later jobs are tried
};

class QueuePolicy : public Policy {
 public:
  QueuePolicy(OnMisfit on_misfit, Placement placement)
      : on_misfit_(on_misfit), placement_(placement) {
    set_traits(std::make_shared<const PlacementTraits>(PlacementTraits{.placement = placement}));
  }

  void decide(const View& view, Plan& plan) override;
  void fields(Archive& archive) override { archive(waiting_); }

 protected:
  // Returns the job's place in the order now; the label is not used.
  virtual OrderKey order(const View& view, JobId job) const = 0;
  // Places the job, or leaves the draft unchanged and returns false. Must be monotone, like the
  // placements (placement.h).
  virtual bool start(const View& view, Plan& plan, JobId job) {
    return place(placement_, view.cluster, plan, job, view.jobs.gpus[job], view.jobs.types[job]);
  }

 private:
  const OnMisfit on_misfit_;
  const Placement placement_;
  ClassQueue waiting_;
};

}  // namespace fairlead
