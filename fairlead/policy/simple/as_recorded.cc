// as-recorded: each job starts at its start in the trace, on any free GPUs. A job that finds none
// starts as soon as it can; among late jobs the earliest is first. Jobs without a start in the
// trace come when they are submitted.
//
// The number of starts kept, and the waits in the trace, are figures of every run of such a trace
// (logged/ in docs/formats.md). Nothing is preempted.
//
// A decision costs O(waiting log waiting) if a due job waits.
#include "fairlead/policy/kit/placement.h"
#include "fairlead/policy/policies.h"

#include <algorithm>

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
      place(placement_, view.cluster, plan, job, view.jobs.gpus[job], view.jobs.types[job]);
    }
  }
  void fields(Archive& /*archive*/) override {}

 private:
  const Placement placement_;
  std::vector<JobId> due_;  // jobs of the present decision
};

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
