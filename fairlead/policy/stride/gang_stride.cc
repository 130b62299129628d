// One gang-aware stride over the whole cluster (Gandiva_fair's slides, table 2).
//
// Every quantum all jobs are in order of pass and the cluster goes to the jobs that fit. Nothing
// ties a job to a node, so it resumes on any nodes with room: migrations without bound, which is
// why the paper splits the stride by node.
#include "fairlead/policy/policies.h"
#include "fairlead/policy/stride/stride_policy.h"

namespace fairlead {
namespace {

class GangStridePolicy : public StridePolicy {
 public:
  using StridePolicy::StridePolicy;
  std::string_view name() const override { return kGangStride.name; }
};

constexpr OptionSpec kOptions[] = {
    integer_option("quantum_s", "60", "seconds", 1, 86400,
                   "Time slice; the default is Gandiva's (OSDI 2018)."),
    placement_option("best-fit", "Placement of a gang; the default keeps gangs together (ours)."),
    kMixedOption,

    flag_option(
        "cap", "false",
        "Forgive the debt of a job beyond one quantum of the largest gang per ticket; ours, "
        "not in the slides."),
    flag_option("skip", "true",
                "Try the jobs behind one that does not fit, as in the slides; false is "
                "head-of-line blocking, an ablation."),
};

}  // namespace

const PolicyEntry kGangStride = {
    .name = "gang-stride",
    .summary = "One gang-aware stride over the whole cluster, by tickets.",
    .paper = "Chaudhary et al., Gandiva_fair, EuroSys 2020 (slides: the rule before it is split)",
    .options = kOptions,
    .make = [](const PolicyOptions& options) -> Result<std::unique_ptr<Policy>> {
      return std::make_unique<GangStridePolicy>(
          StrideOptions{.placement = options.placement(),
                        .quantum = options.duration("quantum_s"),
                        .one_at_a_time = false,
                        .skip = options.flag("skip"),
                        .cap = options.flag("cap")});
    },
    .traits = [](const PolicyOptions& options) { return placement_traits(options, "quantum_s"); }};

}  // namespace fairlead
