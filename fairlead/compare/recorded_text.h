// A comparison with the recorded past: how long jobs waited in the trace, how many recorded starts `as-recorded` could
// keep, and how near the policies that stand for real schedulers come to it.
#pragma once

#include "fairlead/compare/comparison.h"

#include <string>

namespace fairlead {

// Returns the opening of a comparison, with an empty line at its end: for each point, a line for each run of slurm and
// kube, a warning if it is off by more than a quarter, and a line for a run of as-recorded. Empty if there is none, or
// no job's start is recorded. The first seed counts.
//   Our model of your scheduler, slurm: mean wait 39m 2s, recorded 41m.
//   Recorded: mean wait 41m over 300 jobs; as-recorded kept 298 of their starts, 2 came later.
std::string recorded_text(const Comparison& comparison);

// Returns true for a run of as-recorded on a trace without starts. Its figures mean nothing.
bool has_nothing_recorded(const ComparedPolicy& policy);

}  // namespace fairlead
