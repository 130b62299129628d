// The figures of a run, each named once: every number of summary.json that does not belong to one user.
//
// This list defines summary.json, the means of compare.json, the table of `fairlead compare`, the keys for claims of an
// experiment and the table in docs/formats.md.
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
  kKwh,
  kMoney,     // in the currency of --set prices
  kFraction,  // shown as a percentage
  kRatio,
};
// "count", "s", "GPU-h", "kWh", "money", "fraction", "ratio".
std::string_view unit_name(FigureUnit unit);

// Which of two values of a figure is the better one.
enum class Better : std::uint8_t { kNeither, kLess, kMore };

struct Figure {
  std::string_view key;  // in summary.json; "fairness/jain" is the key "jain" of "fairness"
  FigureUnit unit;
  bool is_compared;          // compare.json has its mean, minimum, maximum and differences
  std::string_view header;   // header of its column in the table of `fairlead compare`; "": none
  std::string_view meaning;  // meaning and formula, a cell of a Markdown table
  // None: the figure is not defined for this run.
  std::optional<double> (*of)(const Summary& summary);
  Better better = Better::kNeither;
  bool is_left_out = false;  // from summary.json if undefined; otherwise null is written
};

// Returns the figures in the order of tables.
std::span<const Figure> run_figures();
// Null if there is none with this key.
const Figure* find_figure(std::string_view key);

}  // namespace fairlead
