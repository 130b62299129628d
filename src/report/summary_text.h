// The summary of a run as a person reads it on a terminal.
#pragma once

#include "fairlead/metrics/summary.h"
#include "fairlead/report/table.h"

#include <cstdint>
#include <string>

namespace fairlead {

// The facts that remarks need, of one run or of several alike.
struct RemarkedRun {
  std::int64_t jobs = 0;
  std::int64_t models_unknown = 0;
  std::int64_t models_communicating = 0;
  std::string network;  // as the setting says, where it is computed
};

// Whether the setting's value, empty if not given, has the network computed.
bool is_computed_network(std::string_view network);

// What the figures do not show: jobs whose speeds are not known, a network that no job uses. A line
// each, or nothing.
std::string remarks_text(const RemarkedRun& run);

// The figures of the run and the users that received most.
std::string summary_text(const Summary& summary, TextStyle style);

}  // namespace fairlead
