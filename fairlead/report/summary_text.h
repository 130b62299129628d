// The summary of a run as a person reads it on a terminal.
#pragma once

#include "fairlead/base/time_text.h"
#include "fairlead/metrics/assumed.h"
#include "fairlead/metrics/summary.h"
#include "fairlead/report/table.h"

#include <cstdint>
#include <string>
#include <vector>

namespace fairlead {

// The facts for remarks, of one run or of several similar ones.
struct RemarkedRun {
  std::int64_t models_communicating = 0;
  std::string network;  // value of the setting, if computed
};

// Returns whether the setting's value, empty if not given, has the network computed.
bool is_computed_network(std::string_view network);

// Returns a remark on a network that no job uses, which the figures do not show. A line, or nothing.
std::string remarks_text(const RemarkedRun& run);

// Returns the block "Assumed", with an empty line before it; nothing if there are no assumptions. Grave ones are red on
// a terminal, and are marked with "!".
std::string assumed_text(const std::vector<AssumedLine>& lines, TextStyle style);

// Returns the figures of the run, its assumptions, and the users that received most.
std::string summary_text(const Summary& summary, TextStyle style,
                         TimeUnits units = TimeUnits::kHuman);

}  // namespace fairlead
