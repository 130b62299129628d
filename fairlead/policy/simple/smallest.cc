// The jobs with the fewest GPUs run first, with preemption (the Tiresias simulator's "sjf").
#include "fairlead/policy/kit/priority_policy.h"
#include "fairlead/policy/policies.h"

namespace fairlead {
namespace {

class Smallest : public PriorityPolicy {
 public:
  explicit Smallest(Placement placement) : PriorityPolicy(placement, TieOrder::kByArrival, {}) {}

  std::string_view name() const override { return kSmallest.name; }

 protected:
  std::int64_t key(const View& view, JobId job) const override { return view.jobs.gpus[job]; }
};

constexpr OptionSpec kOptions[] = {
    placement_option("count", "Placement of a gang; the default is the Tiresias simulator's."),
    kMixedOption,
};

}  // namespace

const PolicyEntry kSmallest = {
    .name = "smallest",
    .summary = "Fewest GPUs first, with preemption.",
    .paper = "Gu et al., Tiresias, NSDI 2019 (simulator schedule sjf)",
    .options = kOptions,
    .make = [](const PolicyOptions& options) -> Result<std::unique_ptr<Policy>> {
      return std::make_unique<Smallest>(options.placement());
    }};

}  // namespace fairlead
