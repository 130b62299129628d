// A comparison with the recorded past: how long jobs waited in the trace, how many recorded starts `as-recorded` could
// keep, and how near the policies that stand for real schedulers come to it.
#pragma once

#include "fairlead/compare/comparison.h"

#include <string>
#include <string_view>
#include <vector>

namespace fairlead {

// Returns the lines about the recorded past of a point: one for each run of slurm and kube, a warning if it is off by more
// than a quarter, and one for a run of as-recorded. None if there is no such run, or no job's start is recorded. The
// first seed counts.
std::vector<std::string> recorded_lines(const ComparedPoint& point);

// Returns the opening of a comparison, with an empty line at its end: the lines of each point. Empty if there are none.
//   Our model of your scheduler, slurm: mean wait 39m 2s, recorded 41m.
//   Recorded: mean wait 41m over 300 jobs; as-recorded kept 298 of their starts, 2 came later.
std::string recorded_text(const Comparison& comparison);

// True for the policy that repeats the recorded starts, with any options.
bool is_as_recorded(std::string_view policy);

// Returns true for a run of as-recorded on a trace without starts. Its figures mean nothing.
bool has_nothing_recorded(const ComparedPolicy& policy);

}  // namespace fairlead
