// The free GPUs that one job can use, for policies that choose nodes themselves.
#pragma once

#include "fairlead/policy/kit/placement.h"
#include "fairlead/policy/policy.h"

#include <optional>
#include <vector>

namespace fairlead {

// The same as take_gang() of placement.h, from the GPUs that a job can use.
bool take_gang(Placement placement, const Cluster& cluster, LimitedGpus& usable, GangAsked asked,
               TypeMask types, std::vector<Slice>& gang);

class FreeFor {
 public:
  // O(1), or O(nodes) if other resources limit the job's tasks. REQUIRES: no open gang.
  FreeFor(const View& view, const Plan& plan, JobId job) : free_(&plan.free()) {
    if (!plan.room().limits(job)) return;
    limited_ = limited_free(view.cluster, plan.free(), plan.room(), job, plan.task_gpus(job),
                            view.jobs.types[job]);
  }
  // Returns the free GPUs that the job's tasks can use: all, unless other resources limit them.
  const FreeIndex& index() const { return limited_ ? *limited_ : *free_; }
  // Takes GPUs for the open gang of the job. REQUIRES: `plan` is the plan given before; index() has them.
  void take(Plan& plan, NodeId node, std::uint32_t gpus) {
    plan.take(node, gpus);
    if (limited_) limited_->take(node, gpus);
  }
  // Gives the GPUs of the open gang back.
  void drop(const View& view, Plan& plan, JobId job) {
    plan.drop();
    *this = FreeFor(view, plan, job);
  }

 private:
  const FreeIndex* free_;
  std::optional<FreeIndex> limited_;  // none: GPUs alone limit the job's tasks
};

}  // namespace fairlead
