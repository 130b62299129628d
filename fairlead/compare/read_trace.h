// The trace of a run, read as its flags and settings ask.
#pragma once

#include "fairlead/compare/run_flags.h"
#include "fairlead/run/trace.h"

namespace fairlead {

// Errors: those of Trace::read, and a table of models that cannot be read.
Result<Trace> read_trace_of(const RunConfig& config);

}  // namespace fairlead
