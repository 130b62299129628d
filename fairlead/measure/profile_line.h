// The job profile in a line of the hook (python/hook): "1200 0 steps 102400 97492 8192 4 32 4711".
#pragma once

#include "fairlead/model/event.h"

#include <optional>
#include <string_view>

namespace fairlead {

// Parses the numbers after the unit: parameters, gradients and the largest gradient in kB, workers, samples of a worker
// in a step (0: not known), and the process. The length of a step is not in the line: step_us is 1. Nullopt: the line has
// no profile, or one that no job can have. The text is its user's. O(length).
std::optional<JobProfile> parse_profile(std::string_view line);

}  // namespace fairlead
