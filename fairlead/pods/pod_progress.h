// The progress that a node's agent has read from a pod's output (agent/agent.h), in the pod's annotation.
//
//   pod   fairlead.dev/progress: "11.83 1200 50000 steps"     units a second, units done, in all (0: unknown), the unit
//
// The agent measures the speed by its own clock, over the time in which the pod ran. So clocks of two machines are never
// compared, and the text stays true if the agent, the scheduler or the API server is away for a while. A pod that is
// created again has a new text.
#pragma once

#include "fairlead/measure/meter.h"

#include <optional>
#include <string>
#include <string_view>

namespace fairlead {

constexpr std::string_view kProgressOf = "fairlead.dev/progress";

struct PodProgress {
  double unit_per_s = 0;  // above 0
  Progress progress;
};

std::string progress_text(const PodProgress& progress);
// Returns nullopt if the text is not of this form, or if no training can be like that.
std::optional<PodProgress> parse_pod_progress(std::string_view text);

}  // namespace fairlead
