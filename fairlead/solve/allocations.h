// Gavel's objectives (OSDI 2020, sections 4.1 to 4.4) as divisions of the time of GPUs among jobs,
// on time_shares.h. Each function documents which of several best divisions it returns. Jobs are
// ordered by them, and the choice alone changes average completion times.
//
// All functions treat equal jobs equally: rows with the same gang, rates in proportion, floor, part
// and other columns get the same shares. The result does not depend on the order of the rows. It
// does not depend on the scale of a row either (its rate, floor and part times a power of two give
// the same bits).
//
// Shares are multiples of kShareUnit; smaller shares are 0. Rounding goes down, so that capacities
// are kept as in time_shares.h. One exception: a share that misses a multiple by less than a
// hundredth of the unit counts as that multiple.
//
// Errors: as in time_shares.h, and jobs that can run nowhere if the objective then has no answer.
// The cost is one to some calls of time_shares.h: milliseconds for thousands of rows.
#pragma once

#include "fairlead/solve/time_shares.h"

#include <span>
#include <vector>

namespace fairlead {

inline constexpr double kShareUnit = 1e-9;

// The choice among several best divisions.
enum class Ties : std::uint8_t {
  kProgress,  // the division with the most progress over all jobs, each measured in its part (ours)
  kNone,      // the division found first: no job has more than it must
};

struct Allocation {
  double objective = 0;
  std::vector<double> share;  // rows x types, of each job of the row
};

// Maximises the common level (section 4.1, and with parts by weight, gang and speed Gavel's LAS).
// The objective is that level.
Result<Allocation> max_min(const ShareProblem& problem, Ties ties = Ties::kProgress);

// Raises the level again and again for the jobs that can still have a higher one. The smallest
// level becomes as large as possible, then the second smallest, and so on (section 4.4, "water
// filling"). The objective is the smallest level. As many calls as there are distinct levels.
Result<Allocation> water_fill(const ShareProblem& problem);

// Maximises the sum of count * value * share, above the floors. `value`: rows x types. Parts have
// no effect.
Result<Allocation> max_total(const ShareProblem& problem, std::span<const double> value);

// Minimises the time H in which every job could do `remaining` (one number per row, >= 0, in
// units of progress). The objective is H: 0 if nothing remains. Otherwise as max_min. Floors and
// parts have no effect.
Result<Allocation> least_makespan(const ShareProblem& problem, std::span<const double> remaining,
                                  Ties ties = Ties::kProgress);

// The data of each row's jobs for finish-time fairness (Themis, NSDI 2020; Gavel, section 4.2).
struct FinishTimes {
  std::vector<double> remaining;   // units of progress, >= 0
  std::vector<double> age_s;       // since arrival, >= 0
  std::vector<double> isolated_s;  // from arrival to finish with an equal share of the cluster, > 0
};

// Minimises rho such that every job with work left, at its share from now on, has
//   age + remaining / progress <= rho * isolated
// The objective is rho to a relative 1e-9. Otherwise as max_min. Floors and parts have no effect.
// Uses Newton's method on the prices of a fixed rho, which rises from below (ours).
Result<Allocation> finish_time_fairness(const ShareProblem& problem, const FinishTimes& times,
                                        Ties ties = Ties::kProgress);

}  // namespace fairlead
