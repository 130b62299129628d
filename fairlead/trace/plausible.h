// Plausibility of a trace: facts that are far more often a mistake of its unit, columns or reader than true.
#pragma once

#include "fairlead/base/result.h"
#include "fairlead/model/workload.h"

#include <string>
#include <vector>

namespace fairlead {

// Returns the odd facts, a sentence each; nothing for fewer than 10 jobs. Odd are a median duration of a year or more,
// or below a second; 90 % of the submissions at one time; and 60 % of the jobs cancelled. O(jobs).
std::vector<std::string> implausible_facts(const Workload& workload);

// Error: more than 1 % of the rows that were meant to be jobs cannot be used.
Status check_rejected(const Workload& workload);

}  // namespace fairlead
