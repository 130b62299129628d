#include "fairlead/engine/engine_plan.h"

#include "fairlead/model/step.h"

#include <algorithm>
#include <bit>

namespace fairlead {

void EnginePlan::add_node() {
  if (!plan_.free_.has(NodeId(plan_.cluster_->nodes() - 1))) plan_.free_.add_node();
}

void EnginePlan::set_usable(NodeId node, std::uint64_t gpus) {
  plan_.unusable_.grow_to(node) = ~gpus;
  const auto count = static_cast<std::uint32_t>(std::popcount(gpus));
  if (count != plan_.free_.capacity(node)) plan_.free_.set_gpus(node, count);
}

void EnginePlan::lose_gang(JobId job) {
  const Gang gang = plan_.gang(job);
  for (Slice slice : gang) plan_.free_.give(slice.node, slice.gpus);
  plan_.count_room(job, gang, false);
  unpin(job);
  plan_.gangs_[job] = {};
}

void EnginePlan::take(JobId job, Gang gang) {
  for (Slice slice : gang) plan_.free_.take(slice.node, slice.gpus);
  plan_.count_room(job, gang, true);
}

void EnginePlan::set_budget(std::int64_t evaluations) {
  budget_ = DecisionBudget(evaluations);
  plan_.budget_ = budget_.is_limited() ? &budget_ : nullptr;
}

Plan& EnginePlan::begin(Time now, std::span<const JobId> running) {
  const TaskLimits* const limits = plan_.jobs_->limits;
  plan_.now_ = now;
  if (plan_.room_.begin(limits, plan_.cluster_->nodes()) && plan_.room_.is_limited()) {
    for (JobId job : running) plan_.count_room(job, plan_.gang(job), true);
  }
  plan_.edits_.clear();
  plan_.wakes_.clear();
  plan_.notes_.clear();
  return plan_;
}

void EnginePlan::make_way(std::span<const JobId> running) {
  const auto is_pinned_place = [&](const Edit& edit) {
    return edit.before.empty() && plan_.is_pinned(edit.job);
  };
  if (std::ranges::none_of(plan_.edits_, is_pinned_place)) return;
  Jobs& jobs = *plan_.jobs_;
  for (JobId job : running) {
    const GangRef present = gang(job);
    const bool is_kept = !present.empty() && present.offset == jobs.last[job].offset;
    if (!is_kept || !is_in_the_way(job, present)) continue;
    const Gang slices = plan_.gang(job);
    plan_.open_.assign(slices.begin(), slices.end());
    plan_.gangs_[job] = jobs.gangs.add(plan_.open_);
    plan_.open_.clear();
    plan_.edits_.push_back({job, present, {}, StopCause::kMove});
    plan_.edits_.push_back({job, {}, gang(job), StopCause::kPolicy});
  }
}

}  // namespace fairlead
