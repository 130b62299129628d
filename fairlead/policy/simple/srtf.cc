// Shortest remaining time first, with preemption (the Tiresias simulator's "shortest").
#include "fairlead/model/known_work.h"
#include "fairlead/policy/kit/priority_policy.h"
#include "fairlead/policy/policies.h"

namespace fairlead {
namespace {

class Srtf : public PriorityPolicy {
 public:
  explicit Srtf(Placement placement) : PriorityPolicy(placement, TieOrder::kStable, {}) {}

  std::string_view name() const override { return kSrtf.name; }
  Needs needs() const override { return {.work = kAnyWork}; }

 protected:
  std::int64_t key(const View& view, JobId job) const override {
    return view.work.remaining(job).ms;
  }
};

constexpr OptionSpec kOptions[] = {
    placement_option("count", "Placement of a gang; the default is the Tiresias simulator's."),
    kMixedOption,
};

}  // namespace

const PolicyEntry kSrtf = {
    .name = "srtf",
    .summary = "Shortest remaining time first, with preemption.",
    .paper = "Gu et al., Tiresias, NSDI 2019 (baseline SRTF; simulator schedule shortest)",
    .options = kOptions,
    .make = [](const PolicyOptions& options) -> Result<std::unique_ptr<Policy>> {
      return std::make_unique<Srtf>(options.placement());
    }};

}  // namespace fairlead
