// A short journal of an engine: the present jobs with their progress, without the past.
#pragma once

#include "fairlead/engine/engine_state.h"
#include "fairlead/engine/run_header.h"

namespace fairlead {

// Writes to `sink` the header, the present jobs with their progress, as if they had just come, and `snapshot`.
// Without it: GPUs of ended runs that are not free yet, and failed starts. O(jobs + slices).
void condense(const EngineState& state, const RunLabel& label, const record::Snapshot& snapshot,
              RecordSink& sink);

}  // namespace fairlead
