// One gang-aware stride over the whole cluster (Gandiva_fair's slides, table 2).
//
// Every quantum all jobs stand in order of pass and the cluster goes to those who fit. Nothing ties
// a job to a server, so it resumes wherever there is room: migrations without bound, which is why
// the paper splits the stride by server.
#include "fairlead/policy/policies.h"
#include "fairlead/policy/stride/stride_policy.h"

namespace fairlead {
namespace {

class GlobalStride : public StridePolicy {
 public:
  using StridePolicy::StridePolicy;
  std::string_view name() const override { return kGangStride.name; }
};

constexpr OptionSpec kOptions[] = {
    integer_option("quantum", "60", "seconds", 1, 86400,
                   "Length of a turn; the default is Gandiva's time slice (OSDI 2018)."),
    placement_option("best-fit", "How GPUs are found; the default keeps gangs together (ours)."),
    flag_option("cap", "true",
                "Forgives what a job owes beyond the largest gang per ticket (ours); the slides do "
                "not."),
    flag_option("skip", "true",
                "Jobs behind one that does not fit are tried, as in the slides; false is "
                "head-of-line."),
};

}  // namespace

const PolicyEntry kGangStride = {
    .name = "gang-stride",
    .summary = "One gang-aware stride over the whole cluster, by tickets.",
    .paper = "Chaudhary et al., Gandiva_fair, EuroSys 2020 (slides: the rule before it is split)",
    .options = kOptions,
    .make = [](const PolicyOptions& options) -> Result<std::unique_ptr<Policy>> {
      return std::make_unique<GlobalStride>(
          StrideOptions{.placement = options.placement(),
                        .quantum = seconds(options.integer("quantum")),
                        .skip = options.flag("skip"),
                        .cap = options.flag("cap")});
    }};

}  // namespace fairlead
