// A short journal of an engine: the present jobs with their progress, without the past.
#pragma once

#include "fairlead/engine/engine_state.h"
#include "fairlead/engine/run_header.h"

namespace fairlead {

// Writes to `sink` the header, the present jobs and `snapshot`, as Engine::condense() states. O(jobs + slices).
void condense(const EngineState& state, const RunLabel& label, const record::Snapshot& snapshot,
              RecordSink& sink);

}  // namespace fairlead
