// Searches for the largest gain of a user by misreporting in trading, for tests and experiments.
// Ours.
//
// A user can report false speedups. Or it can truly run its jobs slower on its slowest GPUs, so
// that its speedup rises though its slow GPUs are worth less. All others are honest. The user's
// result is measured by its true speeds.
#pragma once

#include "fairlead/solve/trading.h"

#include <cstddef>
#include <span>
#include <vector>

namespace fairlead {

// Gains: the excess of the user's throughput over its throughput if all users are honest, in
// percent; 0: no attempt gained.
struct BestLies {
  double report_gain = 0;
  // The reported speedup on each type over the user's slowest type is the true one times this;
  // empty: the truth is best.
  std::vector<double> report;
  double slow_down_gain = 0;
  // The factor by which the user slows its jobs on its slowest type. The slowdown is real and
  // reports show it, so checking reports does not prevent it.
  double slow_down = 1;
};

// The factors above 1 to try; reports also try their inverses and 1.
std::span<const double> usual_lie_factors();

// Returns each user's best lie against honest others. Arguments as of Trading::trade. Cost: per
// user (2 x factors + 1)^(types - 1) + factors trades.
std::vector<BestLies> best_lies(std::size_t types, std::span<const double> speeds,
                                std::span<const double> entitled, TradePrice price,
                                std::span<const double> factors = usual_lie_factors());

}  // namespace fairlead
