// What happened, as the trace has it: each job starts when it started there, on any GPUs that are
// free; one that finds none starts as soon as it does, the earliest of those that are late first. Jobs
// of which the trace does not say when they started come when they are submitted.
//
// How many starts were kept, and how long jobs waited by the trace, are figures of every run of such a
// trace (logged/ in docs/formats.md). Nothing is preempted.
//
// A decision costs O(waiting log waiting) where something waits that is due.
#include "fairlead/policy/kit/placement.h"
#include "fairlead/policy/policies.h"

#include <algorithm>

namespace fairlead {
namespace {

// When the job is to start. One that lost its gang with a node, or was held, is late.
Time due(const Jobs& jobs, JobId job) {
  const Time start = jobs.logged_of(job).start;
  return start == Time::never() ? jobs.arrival[job] : start;
}

class AsRecorded : public Policy {
 public:
  // What ran then can run: types are mixed where no type has enough.
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
  std::vector<JobId> due_;  // of the decision under way
};

constexpr OptionSpec kOptions[] = {
    placement_option("best-fit", "Placement of a gang (ours): traces seldom say on which GPUs."),
};

}  // namespace

const PolicyEntry kAsRecorded = {
    .name = "as-recorded",
    .summary = "What happened: each job starts when the trace says that it did.",
    .paper = "none: the trace's own scheduler",
    .options = kOptions,
    .make = [](const PolicyOptions& options) -> Result<std::unique_ptr<Policy>> {
      return std::make_unique<AsRecorded>(options.placement());
    }};

}  // namespace fairlead
