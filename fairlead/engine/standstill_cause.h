// The errors that end a run at a standstill (engine/standstill.h): the reason, the remedy and an example job.
// O(jobs present).
#pragma once

#include "fairlead/base/result.h"
#include "fairlead/engine/engine_state.h"

#include <string_view>

namespace fairlead {

// The policy was woken for ever, while no job worked.
tl::unexpected<Error> idle_error(const EngineState& state, std::string_view policy);
// Events go on for ever, while jobs do next to no work.
tl::unexpected<Error> no_work_error(const EngineState& state, std::string_view policy);

}  // namespace fairlead
