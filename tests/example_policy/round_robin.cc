// Round robin: every quantum the jobs that have gone without GPUs for longest come first.
#include "fairlead/base/archive.h"
#include "fairlead/model/step.h"
#include "fairlead/policy/kit/placement.h"
#include "fairlead/policy/kit/rounds.h"
#include "fairlead/policy/policies.h"

#include <algorithm>

namespace fairlead {
namespace {

class RoundRobin : public Policy {
 public:
  RoundRobin(Placement placement, Duration quantum) : placement_(placement), rounds_(quantum) {}

  std::string_view name() const override { return "round-robin"; }

  void decide(const View& view, Plan& plan) override {
    for (const Event& event : view.news) {
      if (event.kind == EventKind::kArrived) served_.grow_to(event.job) = view.now;
    }
    const bool is_round = rounds_.due(view.now, plan);
    if (view.waiting.empty()) return;
    order_.assign(view.waiting.begin(), view.waiting.end());
    for (JobId job : view.running) {
      served_[job] = view.now;
      if (!is_round) continue;
      plan.stop(job, StopCause::kTurn);
      order_.push_back(job);
    }
    std::ranges::sort(order_, {}, [&](JobId job) { return std::pair(served_[job], job); });
    bool all_run = true;
    for (JobId job : order_) {
      const bool goes_on =
          view.jobs.state[job] == JobState::kRunning && place_back(view.jobs, plan, job);
      all_run &= goes_on || place(placement_, view.cluster, plan, job, view.jobs.gpus[job],
                                  view.jobs.types[job]);
    }
    if (!all_run && !plan.free().all_free()) rounds_.wake(view.now, plan);
  }

  void fields(Archive& archive) override { archive(rounds_, served_); }

 private:
  const Placement placement_;
  Rounds rounds_;
  IdVector<JobId, Time> served_;  // when the job last had GPUs, or arrived
  std::vector<JobId> order_;      // order of the present decision
};

constexpr OptionSpec kOptions[] = {
    placement_option("best-fit", "Placement of a gang (ours)."),
    integer_option("quantum_s", "60", "seconds", 1, 86'400,
                   "Time slice of a job while others wait (ours)."),
};

}  // namespace

extern const PolicyEntry kRoundRobin;
const PolicyEntry kRoundRobin = {
    .name = "round-robin",
    .summary = "Jobs take turns; the one that went without GPUs for longest is next.",
    .paper = "none: an example",
    .options = kOptions,
    .make = [](const PolicyOptions& options) -> Result<std::unique_ptr<Policy>> {
      return std::make_unique<RoundRobin>(options.placement(), options.duration("quantum_s"));
    },
    .traits = [](const PolicyOptions& options) { return placement_traits(options, "quantum_s"); }};

}  // namespace fairlead
