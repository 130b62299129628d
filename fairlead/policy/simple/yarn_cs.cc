// First come, first served on whole nodes of one rack: the baseline of the Tiresias paper, YARN-CS.
#include "fairlead/policy/kit/arrival_queue.h"
#include "fairlead/policy/policies.h"

namespace fairlead {
namespace {

constexpr OptionSpec kOptions[] = {
    placement_option("yarn", "Placement of a gang; the default is YARN-CS's."),
    kMixedOption,
    kSkipOption,
};

}  // namespace

const PolicyEntry kYarnCs = {
    .name = "yarn-cs",
    .summary = "First come, first served on whole nodes of one rack, without preemption.",
    .paper = "Gu et al., Tiresias, NSDI 2019 (baseline YARN-CS)",
    .options = kOptions,
    .make = make_arrival_queue<kYarnCs>};

}  // namespace fairlead
