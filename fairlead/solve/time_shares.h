// Division of the time of GPUs of several types among jobs: a linear program with one price per
// type. x[j][k] >= 0 is the fraction of time that job j runs on type k. A job's fractions add up to
// at most 1. The gangs of all jobs, times their fractions, add up to at most the GPUs of each type
// (Gavel, OSDI 2020, sections 3 and 4). A job's progress is the sum of rate x share over the types.
//
// Both functions decompose by prices. At given prices every row of jobs answers alone, with at most
// two types. A master program of types + 1 rows mixes the answers (Dantzig and Wolfe 1960; the
// division and the certificate are ours). They stop when the bound proved by the prices equals the
// value of the mix, to kShareGap of it. If that is not reached within kShareTurns, or rounding
// spoils the master, Clp solves the whole program (Shares::by_clp is then true).
//
// The answer is a function of the problem alone. If several answers are best, it is any one of
// them: solve/allocations.h breaks ties.
#pragma once

#include "fairlead/base/result.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace fairlead {

inline constexpr double kShareGap = 1e-10;  // relative
inline constexpr int kShareTurns = 400;
// Floors that can be met to this relative precision count as met.
inline constexpr double kFloorSlack = 1e-9;

// Rows of equal jobs and columns of GPU types. Rates may have any scale; a row is normalised by its
// largest.
struct ShareProblem {
  std::vector<double> gpus;   // GPUs of each type, >= 0
  std::vector<double> gang;   // GPUs of one job, by row, > 0
  std::vector<double> count;  // jobs of each row, > 0
  std::vector<double> rate;   // rows x types, row by row: progress per share, 0 where it cannot run
  std::vector<double> floor;  // minimum progress of each job of a row, by row, >= 0
  std::vector<double> part;   // additional progress per unit of the common level, by row,
                              // >= 0

  std::size_t types() const { return gpus.size(); }
  std::size_t rows() const { return gang.size(); }
};

// Returns the largest rate of a row on the types that have GPUs; 0 if it can run nowhere. O(types).
double largest_rate(const ShareProblem& problem, std::size_t row);

// kClp leaves everything to Clp, for comparison: hundreds of times slower for thousands of rows.
enum class ShareMethod : std::uint8_t { kPrices, kClp };

struct Shares {
  double objective = 0;
  std::vector<double> share;  // rows x types, of each job of the row
  // For raise_level: the decrease of the level per unit by which the floor of one of the row's jobs
  // rises. A row with a price above 0 has no more than its floor and part in any best answer. The
  // sum of price x part x count over the rows is 1 (or above, at level 0). For maximise: empty.
  std::vector<double> row_price;
  // by type: the amount that one more GPU adds to the objective; 0 for a type without GPUs.
  std::vector<double> gpu_price;
  int turns = 0;  // queries at prices, including those for the floors
  bool by_clp = false;
};

// Maximises the level >= 0 at which every row has floor + level * part. The level is 0 if no row
// has a part. Progress is met to 1e-9 of a row's largest rate, capacity to 1e-9 of it. An error of
// a failed run, with the size, if the floors cannot be met. REQUIRES: equal sizes, finite values.
// O(rows x types) per turn, for few types.
Result<Shares> raise_level(const ShareProblem& problem, ShareMethod method = ShareMethod::kPrices);

// Maximises the sum of count * value * share with the floors met (parts have no effect). `value`:
// rows x types; if the rate is 0 the share is 0 for any value. Errors and cost as above; O(rows x
// types^2) per turn.
Result<Shares> maximise(const ShareProblem& problem, std::span<const double> value,
                        ShareMethod method = ShareMethod::kPrices);

}  // namespace fairlead
