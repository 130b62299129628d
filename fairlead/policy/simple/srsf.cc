// Shortest remaining service first, with preemption (the Tiresias simulator's "shortest-gpu"):
// service is running time multiplied by GPUs.
#include "fairlead/model/known_work.h"
#include "fairlead/policy/kit/priority_policy.h"
#include "fairlead/policy/policies.h"

namespace fairlead {
namespace {

class Srsf : public PriorityPolicy {
 public:
  explicit Srsf(Placement placement) : PriorityPolicy(placement, TieOrder::kStable, {}) {}

  std::string_view name() const override { return kSrsf.name; }
  Needs needs() const override { return {.work = kAnyWork}; }

 protected:
  std::int64_t key(const View& view, JobId job) const override {
    return saturated_gpu_ms(occupancy(view.work.remaining(job), view.jobs.gpus[job]));
  }
};

constexpr OptionSpec kOptions[] = {
    placement_option("count", "Placement of a gang; the default is the Tiresias simulator's."),
    kMixedOption,
};

}  // namespace

const PolicyEntry kSrsf = {
    .name = "srsf",
    .summary = "Least remaining GPU time first, with preemption.",
    .paper = "Gu et al., Tiresias, NSDI 2019 (baseline SRSF; simulator schedule shortest-gpu)",
    .options = kOptions,
    .make = [](const PolicyOptions& options) -> Result<std::unique_ptr<Policy>> {
      return std::make_unique<Srsf>(options.placement());
    }};

}  // namespace fairlead
