// The assumptions of a run in words: the block "Assumed" of terminal, summary.json and page.
#pragma once

#include "fairlead/metrics/summary.h"

#include <cstdint>
#include <string>
#include <vector>

namespace fairlead {

struct AssumedLine {
  std::string about;  // "speeds"
  std::string text;
  std::int64_t jobs = 0;  // or rows, that it concerns
  bool is_grave = false;  // it concerns more than 1 % of them, or is hardly true
  friend bool operator==(const AssumedLine&, const AssumedLine&) = default;
};

// Returns the lines by importance: oddities of the trace, rows, speeds, and how the trace was read. Assumptions common
// to all runs of all traces are left out.
std::vector<AssumedLine> assumed_lines(const Summary& summary);

}  // namespace fairlead
