// as-recorded: each job starts at its start in the trace, on any free GPUs. Traces seldom name the GPUs of a job, so
// the free GPUs may be scattered where they were not in the trace: then running jobs move to make room for a job with
// a recorded start. A job that finds no room starts as soon as it can; among late jobs the earliest is first. Jobs
// without a start in the trace come when they are submitted. Limits do not hold its jobs, because they held the recorded
// starts.
//
// The number of starts kept, and the waits in the trace, are figures of every run of such a trace
// (logged/ in docs/formats.md).
//
// A decision costs O(waiting log waiting) if a due job waits, and O(running) placements for a due job without room.
#include "fairlead/model/step.h"
#include "fairlead/policy/kit/placement.h"
#include "fairlead/policy/policies.h"

#include <algorithm>
#include <bit>
#include <tuple>

namespace fairlead {
namespace {

// Returns the time at which the job must start. A job that lost its gang with a node, or was held,
// is late.
Time due(const Jobs& jobs, JobId job) {
  const Time start = jobs.logged_of(job).start;
  return start == Time::never() ? jobs.arrival[job] : start;
}

class AsRecorded : public Policy {
 public:
  // Every job that ran in the trace can run: types are mixed if no type has enough.
  explicit AsRecorded(Placement placement) : placement_(placement.mixing()) {}

  std::string_view name() const override { return kAsRecorded.name; }
  Needs needs() const override { return {.limits = false}; }
  void decide(const View& view, Plan& plan) override {
    for (const Event& event : view.news) {
      if (event.kind != EventKind::kArrived) continue;
      const Time start = due(view.jobs, event.job);
      if (start > view.now) plan.wake_at(start);
    }
    if (plan.free().total() == 0) return;
    due_.clear();
    std::ranges::copy_if(view.waiting, std::back_inserter(due_),
                         [&](JobId job) { return due(view.jobs, job) <= view.now; });
    std::ranges::sort(due_, {}, [&](JobId job) { return std::pair(due(view.jobs, job), job); });
    for (JobId job : due_) {
      if (place(placement_, view.cluster, plan, job, view.jobs.gpus[job], view.jobs.types[job]))
        continue;
      // Jobs that are late anyway wait for an end, after which there may be room.
      if (view.jobs.logged_of(job).start == view.now) make_room(view, plan, job);
    }
  }
  void fields(Archive& /*archive*/) override {}

 private:
  void make_room(const View& view, Plan& plan, JobId job);
  bool empty_a_node(const View& view, Plan& plan, JobId job, NodeId node);
  bool place_again(const View& view, Plan& plan);

  const Placement placement_;
  // State of the present decision.
  std::vector<JobId> due_;
  std::vector<JobId> movable_;  // jobs that have GPUs and may move
  std::vector<JobId> moved_;    // jobs to be placed again
};

bool is_movable(const Plan& plan, JobId job) {
  return plan.has_gang(job) && !plan.is_pinned(job) && copies_of(plan.gang(job)) == 1;
}

// Moves running jobs so that `job` has room: those of one node if that is enough, else all.
void AsRecorded::make_room(const View& view, Plan& plan, JobId job) {
  const std::uint32_t gpus = view.jobs.gpus[job];
  const TypeMask types = view.jobs.types[job];
  if (plan.free().total() < gpus) return;
  movable_.clear();
  for (const std::span<const JobId> jobs : {view.running, std::span<const JobId>(due_)}) {
    for (const JobId one : jobs) {
      if (is_movable(plan, one)) movable_.push_back(one);
    }
  }
  // Jobs for few types are placed before the others, and large ones before the small ones that fill gaps.
  const auto order = [&](JobId one) {
    return std::tuple(std::popcount(view.jobs.types[one]), -std::int64_t{view.jobs.task_gpus[one]},
                      -std::int64_t{view.jobs.gpus[one]}, one);
  };
  std::ranges::sort(movable_, {}, order);
  if (plan.free().room(types, 1) >= gpus) {
    for (const NodeId node : ids<NodeId>(view.cluster.nodes())) {
      const bool may = (types & type_bit(view.cluster.node_type[node])) != 0;
      if (may && empty_a_node(view, plan, job, node)) return;
    }
  }
  const Plan::Mark mark = plan.mark();
  for (const JobId one : movable_) plan.stop(one, StopCause::kMove);
  moved_ = movable_;
  moved_.push_back(job);
  std::ranges::sort(moved_, {}, order);
  if (!place_again(view, plan)) plan.rollback(mark);
}

// Moves jobs off the node until there is room for `job`. Returns false, without a change, if that fails.
bool AsRecorded::empty_a_node(const View& view, Plan& plan, JobId job, NodeId node) {
  const std::uint32_t gpus = view.jobs.gpus[job];
  if (plan.free().capacity(node) < gpus) return false;
  const auto free_on = [&] {
    return plan.room().limits(job) ? plan.usable(job, node) : plan.free().on(node);
  };
  const Plan::Mark mark = plan.mark();
  moved_.clear();
  for (const JobId one : movable_) {
    const std::uint32_t free = free_on();
    if (free >= gpus) break;
    const Gang gang = plan.gang(one);
    if (gang.size() != 1 || gang[0].node != node || gang[0].gpus > gpus - free) continue;
    plan.stop(one, StopCause::kMove);
    moved_.push_back(one);
  }
  if (free_on() >= gpus) {
    plan.take(node, gpus);
    if (plan.place(job) && place_again(view, plan)) return true;
  }
  plan.rollback(mark);
  return false;
}

// Places the moved jobs, in order. Returns false if one finds no room.
bool AsRecorded::place_again(const View& view, Plan& plan) {
  return std::ranges::all_of(moved_, [&](JobId one) {
    return place(placement_, view.cluster, plan, one, view.jobs.gpus[one], view.jobs.types[one]);
  });
}

constexpr OptionSpec kOptions[] = {
    placement_option("best-fit", "Placement of a gang (ours): traces seldom name the GPUs."),
};

}  // namespace

const PolicyEntry kAsRecorded = {
    .name = "as-recorded",
    .summary = "The recorded schedule: each job starts at its start in the trace.",
    .paper = "none: the trace's own scheduler",
    .options = kOptions,
    .make = [](const PolicyOptions& options) -> Result<std::unique_ptr<Policy>> {
      return std::make_unique<AsRecorded>(options.placement());
    }};

}  // namespace fairlead
