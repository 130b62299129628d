// The figures of a run, each named once: every number of summary.json that is not of one user.
//
// summary.json, the means of compare.json, the table of `fairlead compare`, the keys that claims of
// an experiment may name and the table in docs/formats.md follow from this list.
#pragma once

#include "fairlead/metrics/summary.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace fairlead {

enum class FigureUnit : std::uint8_t {
  kCount,  // a whole number
  kSeconds,
  kGpuHours,
  kFraction,  // shown as a percentage
  kRatio,
};
// "count", "s", "GPU-h", "fraction", "ratio".
std::string_view unit_name(FigureUnit unit);

// Which of two values of a figure is the better one.
enum class Better : std::uint8_t { kNeither, kLess, kMore };

struct Figure {
  std::string_view key;  // in summary.json; "fairness/jain" is the key "jain" of "fairness"
  FigureUnit unit;
  bool is_compared;          // compare.json has its mean, minimum, maximum and differences
  std::string_view header;   // of its column in the table of `fairlead compare`; "": none
  std::string_view meaning;  // meaning and formula, a cell of a Markdown table
  // None: it means nothing for this run.
  std::optional<double> (*of)(const Summary& summary);
  Better better = Better::kNeither;
  bool is_left_out = false;  // of summary.json where it means nothing; else null stands there
};

// In the order in which tables show them.
std::span<const Figure> run_figures();
// Null if there is none with this key.
const Figure* find_figure(std::string_view key);

}  // namespace fairlead
