// The summary of a run as a person reads it on a terminal.
#pragma once

#include "metrics/summary.h"
#include "report/table.h"

#include <string>

namespace fairlead {

// The figures of the run and the users that received most.
std::string summary_text(const Summary& summary, TextStyle style);

}  // namespace fairlead
