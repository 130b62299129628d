// The figures of compared policies: by seed, in the mean, and as cells of a table.
#pragma once

#include "fairlead/base/time_text.h"
#include "fairlead/compare/comparison.h"
#include "fairlead/compare/spread.h"
#include "fairlead/metrics/figures.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace fairlead {

// Returns the figures that are means, ranges and differences over the seeds.
std::vector<Figure> compared_figures();

// A figure of the seeds that have it.
using BySeed = std::map<std::uint64_t, double>;
BySeed by_seed(const std::vector<nlohmann::json>& summaries, const Figure& figure);

std::optional<Range> range_over_seeds(const ComparedPolicy& policy, const Figure& figure);

// Returns the differences of two policies' summaries for the common seeds, in order.
std::vector<double> differences_of(const std::vector<nlohmann::json>& of,
                                   const std::vector<nlohmann::json>& to, const Figure& figure);

// Returns the policies of a point with the greatest number of finished jobs: only their figures are about the same
// jobs.
std::vector<const ComparedPolicy*> comparable(const ComparedPoint& point);

// Returns the value as a cell, with its unit except for seconds.
std::string cell_of(const Figure& figure, double value, TimeUnits units);

}  // namespace fairlead
