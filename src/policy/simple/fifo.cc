// First come, first served: jobs start in order of arrival. Strictly, the first job that finds no
// room holds up all behind it; with skip=true those behind are tried (Tiresias' fjf, "fit job
// first").
#include "fairlead/policy/kit/arrival_queue.h"
#include "fairlead/policy/policies.h"

namespace fairlead {
namespace {

constexpr OptionSpec kOptions[] = {
    placement_option("count", "Placement of a gang; the default is the Tiresias simulator's."),
    kSkipOption,
};

}  // namespace

const PolicyEntry kFifo = {
    .name = "fifo",
    .summary = "First come, first served, without preemption.",
    .paper = "Gu et al., Tiresias, NSDI 2019 (baseline; simulator schedules fifo and fjf)",
    .options = kOptions,
    .make = make_arrival_queue<kFifo>};

}  // namespace fairlead
