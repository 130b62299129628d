// Gavel's objectives (OSDI 2020, sections 4.1 to 4.4) as divisions of the time of GPUs among jobs,
// on time_shares.h. Each function says which of several best divisions it gives, because jobs are
// ordered by them and the choice alone changes average completion times.
//
// All divide alike jobs alike: rows with the same gang, rates in proportion, floor, part and other
// columns get the same shares. The result does not depend on the order of the rows, nor on the
// scale of a row (its rate, floor and part times a power of two give the same bits).
//
// Shares are multiples of kShareUnit; what is less is 0. Rounding goes down, so that capacities
// hold as they do for time_shares.h, except that what misses a multiple by less than a hundredth of
// the unit counts as that multiple.
//
// Errors are those of time_shares.h, and of jobs that can run nowhere where an objective has no
// answer then. The cost is one to some calls of time_shares.h: milliseconds for thousands of rows.
#pragma once

#include "fairlead/solve/time_shares.h"

#include <span>
#include <vector>

namespace fairlead {

inline constexpr double kShareUnit = 1e-9;

// Which of several best divisions is taken.
enum class Ties : std::uint8_t {
  kProgress,  // that with the most progress over all jobs, each measured in its part (ours)
  kNone,      // the one that was found: no job has more than it must
};

struct Allocation {
  double objective = 0;
  std::vector<double> share;  // rows x types, of each job of the row
};

// The highest common level (section 4.1, and with parts by weight, gang and speed Gavel's LAS). The
// objective is that level.
Result<Allocation> max_min(const ShareProblem& problem, Ties ties = Ties::kProgress);

// Raises the level again and again for the jobs that a higher one is still possible for, so that
// the smallest level is as large as can be, then the second smallest, and so on (section 4.4,
// "water filling"). The objective is the smallest level. As many calls as there are distinct
// levels.
Result<Allocation> water_fill(const ShareProblem& problem);

// The largest sum of count * value * share, above the floors. `value`: rows x types. Parts play no
// role.
Result<Allocation> max_total(const ShareProblem& problem, std::span<const double> value);

// The least H such that every job could do `remaining` (one number per row, >= 0, in units of
// progress) within H, which is the objective: 0 if nothing remains. Otherwise as max_min. Floors
// and parts play no role.
Result<Allocation> least_makespan(const ShareProblem& problem, std::span<const double> remaining,
                                  Ties ties = Ties::kProgress);

// What finish-time fairness (Themis, NSDI 2020; Gavel, section 4.2) knows of each row's jobs.
struct FinishTimes {
  std::vector<double> remaining;   // units of progress, >= 0
  std::vector<double> age_s;       // since arrival, >= 0
  std::vector<double> isolated_s;  // from arrival to finish with an equal share of the cluster, > 0
};

// The least rho such that every job with work left, at its share from now on, has
//   age + remaining / progress <= rho * isolated
// The objective is rho to a relative 1e-9. Otherwise as max_min. Floors and parts play no role.
// Newton's method on the prices of a fixed rho, which comes from below (ours).
Result<Allocation> finish_time_fairness(const ShareProblem& problem, const FinishTimes& times,
                                        Ties ties = Ties::kProgress);

}  // namespace fairlead
