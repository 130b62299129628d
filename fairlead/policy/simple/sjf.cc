// Shortest job first, without preemption (Helios' sjf).
//
// Waiting jobs are in order of remaining running time on their reference gang, then of arrival; the
// first that finds no room blocks all behind it.
#include "fairlead/model/known_work.h"
#include "fairlead/policy/kit/queue_policy.h"
#include "fairlead/policy/policies.h"

namespace fairlead {
namespace {

class Sjf : public QueuePolicy {
 public:
  explicit Sjf(Placement placement) : QueuePolicy(OnMisfit::kStop, placement) {}

  std::string_view name() const override { return kSjf.name; }
  Needs needs() const override { return {.work = kEstimatedWork}; }

 protected:
  OrderKey order(const View& view, JobId job) const override {
    return {.major = view.work.remaining(job).ms, .minor = view.jobs.arrival[job].ms, .job = job};
  }
};

constexpr OptionSpec kOptions[] = {
    placement_option("count", "Placement of a gang; Helios itself uses consolidate."),
    kMixedOption,
};

}  // namespace

const PolicyEntry kSjf = {
    .name = "sjf",
    .summary = "Shortest job first, without preemption.",
    .paper = "Hu et al., Helios, SC 2021 (baseline SJF)",
    .options = kOptions,
    .make = [](const PolicyOptions& options) -> Result<std::unique_ptr<Policy>> {
      return std::make_unique<Sjf>(options.placement());
    }};

}  // namespace fairlead
