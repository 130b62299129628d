#include "fairlead/policy/kit/upgrading.h"

#include "fairlead/model/known_speed.h"
#include "fairlead/model/step.h"

#include <algorithm>
#include <span>

namespace fairlead {
namespace {

// Returns the speed of a gang that has the best tier of its size: that of its slowest type.
Rate best_rate_of(const View& view, JobId job, Gang gang) {
  std::optional<Rate> slowest;
  for (const Slice slice : gang) {
    const Rate rate =
        view.speed.best_rate(job, view.cluster.node_type[slice.node], view.jobs.gpus[job]);
    slowest = std::min(slowest.value_or(rate), rate);
  }
  return slowest.value_or(Rate{});
}

}  // namespace

Needs Upgrading::needs() const {
  Needs needs = policy_->needs();
  needs.rates = RatesNeeded::kTable;
  return needs;
}

bool Upgrading::keeps_gang(const View& view, JobId job, const Plan& plan) const {
  return view.jobs.state[job] == JobState::kRunning &&
         std::ranges::equal(plan.gang(job), view.jobs.last_gang(job));
}

void Upgrading::decide(const View& view, Plan& plan) {
  policy_->decide(view, plan);
  if (view.cluster.type_names.size() == 1) return;
  new_.clear();
  stays_.clear();
  for (const std::span<const JobId> list : {view.running, view.waiting}) {
    for (const JobId job : list) {
      if (!plan.has_gang(job) || plan.is_pinned(job)) continue;
      (keeps_gang(view, job, plan) ? stays_ : new_).push_back(job);
    }
  }
  std::ranges::sort(new_);
  std::ranges::sort(stays_);
  place_new(view, plan);
  for (const JobId job : stays_) move_up(view, job, plan);
}

// Divides the GPUs that the policy chose for these jobs, and free ones, again; changes nothing if one finds no place.
void Upgrading::place_new(const View& view, Plan& plan) {
  const Plan::Mark before = plan.mark();
  nodes_.clear();
  for (const JobId job : new_) {
    nodes_.push_back(plan.gang(job).size());
    plan.stop(job, StopCause::kMove);
  }
  for (std::size_t i = 0; i < new_.size(); ++i) {
    if (place_faster(view, new_[i], Rate{}, nodes_[i], plan)) continue;
    plan.rollback(before);
    return;
  }
}

void Upgrading::move_up(const View& view, JobId job, Plan& plan) {
  const Rate present = best_rate_of(view, job, plan.gang(job));
  const Plan::Mark before = plan.mark();
  const std::size_t nodes = plan.gang(job).size();
  plan.stop(job, StopCause::kMove);
  if (!place_faster(view, job, present, nodes, plan)) plan.rollback(before);
}

// Places the job on the fastest type that is faster than that and has room on few enough nodes. Returns false, without
// a change, if there is none.
bool Upgrading::place_faster(const View& view, JobId job, Rate than, std::size_t nodes_max,
                             Plan& plan) {
  const std::uint32_t gpus = view.jobs.gpus[job];
  const auto rate_on = [&](GpuTypeId type) { return view.speed.best_rate(job, type, gpus); };
  faster_.clear();
  for (const GpuTypeId type : ids<GpuTypeId>(view.cluster.type_names.size())) {
    const bool has_room = (view.jobs.types[job] & type_bit(type)) != 0 &&
                          plan.free().room(type, plan.task_gpus(job)) >= gpus;
    if (has_room && rate_on(type) > than) faster_.push_back(type);
  }
  std::ranges::stable_sort(faster_, std::ranges::greater(), rate_on);
  return std::ranges::any_of(faster_, [&](GpuTypeId type) {
    if (!place(placement_, view.cluster, plan, job, gpus, type_bit(type))) return false;
    if (plan.gang(job).size() <= nodes_max) return true;
    plan.stop(job, StopCause::kMove);
    return false;
  });
}

}  // namespace fairlead
