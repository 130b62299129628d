// The job profile in a line of the hook (python/hook): "1200 0 steps 102400 97492 8192 4 32 4711".
#pragma once

#include "fairlead/model/event.h"

#include <cstdint>
#include <optional>
#include <string_view>

namespace fairlead {

// Parses the numbers after the unit: parameters, gradients and the largest gradient in kB, workers, samples of a worker
// in a step (0: not known), and the process. Nullopt: the line has no profile, or one that no job can have. The text is
// its user's. `step_us`: of JobProfile; at least 1. O(length).
std::optional<JobProfile> parse_profile(std::string_view line, std::uint32_t step_us);

}  // namespace fairlead
