// The names of job states in logs.
#pragma once

#include <string_view>

namespace fairlead {

// Handles "CANCELLED by 1000", which names the user, and "CANCELLED+", which a narrow column truncated.
std::string_view state_word(std::string_view state);
// Whether the job had not ended when the log was written, in Slurm's words or others' ("running").
bool is_unfinished(std::string_view state);
// Returns whether it was cancelled, in whatever spelling.
bool is_cancelled(std::string_view state);

}  // namespace fairlead
