// Plain stride: one job at a time has the cluster, for a quantum (Gandiva_fair's slides, table 1).
//
// The job with the smallest pass runs and pays 1 / tickets. A gang of four and a gang of one pay
// the same for a turn, and GPUs that the gang does not use idle: so gangs need a stride of their
// own.
#include "fairlead/policy/policies.h"
#include "fairlead/policy/stride/stride_policy.h"

namespace fairlead {
namespace {

class Stride : public StridePolicy {
 public:
  using StridePolicy::StridePolicy;
  std::string_view name() const override { return kStride.name; }
};

constexpr OptionSpec kOptions[] = {
    integer_option("quantum_s", "60", "seconds", 1, 86400,
                   "Time slice; the default is Gandiva's (OSDI 2018)."),
    placement_option("best-fit", "Placement of a gang; the default keeps gangs together (ours)."),
    kMixedOption,
};

}  // namespace

const PolicyEntry kStride = {
    .name = "stride",
    .summary = "Jobs take turns by tickets, one at a time on the whole cluster.",
    .paper =
        "Waldspurger and Weihl, Stride Scheduling, MIT/LCS/TM-528, 1995; as in the slides of "
        "Gandiva_fair, EuroSys 2020",
    .options = kOptions,
    .make = [](const PolicyOptions& options) -> Result<std::unique_ptr<Policy>> {
      return std::make_unique<Stride>(StrideOptions{.placement = options.placement(),
                                                    .quantum = options.duration("quantum_s"),
                                                    .one_at_a_time = true,
                                                    .skip = true,
                                                    .cap = false});
    },
    .traits =
        [](const PolicyOptions& options) {
          PlacementTraits traits = placement_traits(options, "quantum_s");
          traits.one_at_a_time = true;
          return traits;
        }};

}  // namespace fairlead
