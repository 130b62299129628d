// Least attained service first, with preemption and time slices.
//
// Tiresias section 3.2: without known durations, the job that was served least so far runs first.
// Service is GPU time (two-dimensional) or running time. The continuous policy looks at the order
// again every quantum, so equal jobs take turns.
#include "fairlead/policy/kit/priority_policy.h"
#include "fairlead/policy/policies.h"

namespace fairlead {
namespace {

enum class Attained : std::uint8_t { kGpuTime, kTime };

class Las : public PriorityPolicy {
 public:
  Las(Placement placement, Attained attained, Duration quantum)
      : PriorityPolicy(placement, TieOrder::kByArrival, quantum), attained_(attained) {}

  std::string_view name() const override { return kLas.name; }

 protected:
  std::int64_t key(const View& view, JobId job) const override {
    const std::int64_t gpu_ms = saturated_gpu_ms(view.jobs.attained(job, view.now));
    return attained_ == Attained::kGpuTime ? gpu_ms : gpu_ms / view.jobs.gpus[job];
  }

 private:
  const Attained attained_;
};

constexpr OptionSpec kOptions[] = {
    placement_option("count", "Placement of a gang; the default is the Tiresias simulator's."),
    kMixedOption,
    choice_option(
        "attained", "gpu-time", "gpu-time/time",
        "Attained service: GPUs x running time (Tiresias' two-dimensional LAS), or running time."),
    integer_option(
        "quantum_s", "60", "seconds", 1, 86400,
        "Time slice after which waiting jobs may preempt; the default is Gandiva's (OSDI 2018)."),
};

}  // namespace

const PolicyEntry kLas = {
    .name = "las",
    .summary = "Least attained service first, with preemption every quantum.",
    .paper = "Gu et al., Tiresias, NSDI 2019 (section 3.2, without discretisation)",
    .options = kOptions,
    .make = [](const PolicyOptions& options) -> Result<std::unique_ptr<Policy>> {
      return std::make_unique<Las>(
          options.placement(), options.choice("attained", {Attained::kGpuTime, Attained::kTime}),
          options.duration("quantum_s"));
    },
    .traits = [](const PolicyOptions& options) { return placement_traits(options, "quantum_s"); }};

}  // namespace fairlead
