#include "fairlead/solve/allocations.h"

#include "fairlead/base/check.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

namespace fairlead {
namespace {

// Fraction of its level by which a job may fall short, so that there is room to choose among
// divisions.
constexpr double kHair = 1e-9;
// A row limits the level if its price is at least this fraction of an equal share of all prices.
constexpr double kBinds = 1e-3;
// Relative to a feasible demand.
constexpr double kPossible = 1e-11;
// Relative to the demand at a given rho, and to rho.
constexpr double kRhoGap = 1e-10;
constexpr double kRhoStep = 1e-12;
constexpr int kRhoTurns = 100;

// A problem with largest rates of 1 in which alike rows are one. Their order depends only on the
// rows themselves.
struct Merged {
  ShareProblem problem;
  std::vector<double> extra;     // rows x width, as given
  std::vector<std::size_t> row;  // new row of each row before merging
};

Merged merge(const ShareProblem& problem, std::span<const double> extra = {}) {
  const std::size_t rows = problem.rows();
  const std::size_t types = problem.types();
  const std::size_t width = rows == 0 ? 0 : extra.size() / rows;
  FL_CHECK(extra.size() == width * rows && problem.count.size() == rows &&
               problem.floor.size() == rows && problem.part.size() == rows &&
               problem.rate.size() == rows * types,
           "{} rows, {} types", rows, types);
  const std::size_t key_size = 3 + types + width;
  std::vector<double> keys;
  keys.reserve(rows * key_size);
  for (std::size_t row = 0; row < rows; ++row) {
    const double largest = largest_rate(problem, row);
    const double scale = largest > 0 ? largest : 1;
    keys.insert(keys.end(),
                {problem.gang[row], problem.floor[row] / scale, problem.part[row] / scale});
    for (std::size_t type = 0; type < types; ++type) {
      const double rate = problem.gpus[type] > 0 ? problem.rate[row * types + type] : 0;
      keys.push_back(rate / scale);
    }
    for (std::size_t i = 0; i < width; ++i) keys.push_back(extra[row * width + i]);
  }
  const auto key = [&](std::size_t row) {
    return std::span(keys).subspan(row * key_size, key_size);
  };
  std::vector<std::size_t> order(rows);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, [&](std::size_t a, std::size_t b) {
    return std::ranges::lexicographical_compare(key(a), key(b));
  });

  Merged merged{.problem = {.gpus = problem.gpus}, .row = std::vector<std::size_t>(rows)};
  ShareProblem& to = merged.problem;
  for (std::size_t i = 0; i < rows; ++i) {
    const auto now = key(order[i]);
    if (i == 0 || !std::ranges::equal(now, key(order[i - 1]))) {
      to.gang.push_back(now[0]);
      to.floor.push_back(now[1]);
      to.part.push_back(now[2]);
      to.count.push_back(0);
      const auto rest = now.subspan(3);
      to.rate.insert(to.rate.end(), rest.begin(),
                     rest.begin() + static_cast<std::ptrdiff_t>(types));
      merged.extra.insert(merged.extra.end(), rest.begin() + static_cast<std::ptrdiff_t>(types),
                          rest.end());
    }
    to.count.back() += problem.count[order[i]];
    merged.row[order[i]] = to.rows() - 1;
  }
  return merged;
}

Allocation expand(const Merged& merged, double objective, std::span<const double> shares) {
  const std::size_t types = merged.problem.types();
  Allocation allocation{.objective = objective};
  allocation.share.reserve(merged.row.size() * types);
  for (std::size_t row : merged.row) {
    for (std::size_t type = 0; type < types; ++type) {
      const double units = std::floor(shares[row * types + type] / kShareUnit + 0.01);
      allocation.share.push_back(std::max(0.0, units * kShareUnit));
    }
  }
  return allocation;
}

// Returns the division with the most progress, in parts, among those with (next to) the level.
Result<Shares> most_progress(ShareProblem problem, double level) {
  const std::size_t types = problem.types();
  std::vector<double> value(problem.rate.size(), 0.0);
  for (std::size_t row = 0; row < problem.rows(); ++row) {
    if (problem.part[row] <= 0) continue;
    for (std::size_t i = row * types; i < (row + 1) * types; ++i) {
      value[i] = problem.rate[i] / problem.part[row];
    }
    problem.floor[row] += problem.part[row] * level * (1 - kHair);
  }
  return maximise(problem, value);
}

// Returns the division for `objective`, which is one of several with the level of `raised`.
Result<Allocation> choose(const Merged& merged, const Shares& raised, double objective, Ties ties) {
  if (ties == Ties::kNone) return expand(merged, objective, raised.share);
  FL_TRY_ASSIGN(chosen, most_progress(merged.problem, raised.objective));
  return expand(merged, objective, chosen.share);
}

// Gives the rows with a part full time on their fastest type. Returns false if there is no room for
// that.
bool give_full_time(const ShareProblem& problem, std::span<double> shares) {
  const std::size_t types = problem.types();
  std::vector<double> left = problem.gpus;
  for (std::size_t row = 0; row < problem.rows(); ++row) {
    const auto own = shares.subspan(row * types, types);
    if (problem.part[row] > 0) {
      const auto rates = std::span(problem.rate).subspan(row * types, types);
      const auto fastest = std::ranges::max_element(rates) - rates.begin();
      std::ranges::fill(own, 0.0);
      own[static_cast<std::size_t>(fastest)] = 1;
    }
    for (std::size_t type = 0; type < types; ++type) {
      left[type] -= own[type] * problem.gang[row] * problem.count[row];
    }
  }
  return std::ranges::all_of(left, [](double gpus) { return gpus >= 0; });
}

// Fixes the rows that limit the level, at least one, at their progress. Returns how many still
// rise.
std::size_t fix_rows(const Shares& raised, ShareProblem& problem, std::size_t rising) {
  const auto weight = [&](std::size_t row) {
    return raised.row_price[row] * problem.part[row] * problem.count[row];
  };
  double heaviest = 0;
  for (std::size_t row = 0; row < problem.rows(); ++row) heaviest = std::max(heaviest, weight(row));
  FL_CHECK(heaviest > 0, "no row binds the level {} of {} rows", raised.objective, rising);
  const double least = std::min(heaviest, kBinds / static_cast<double>(rising));
  for (std::size_t row = 0; row < problem.rows(); ++row) {
    if (problem.part[row] <= 0 || weight(row) < least) continue;
    problem.floor[row] += problem.part[row] * raised.objective;
    problem.part[row] = 0;
    --rising;
  }
  return rising;
}

// Returns true if every row can have floor and part of the level, or its full time if that is less.
Result<bool> is_possible(const ShareProblem& problem, double level) {
  ShareProblem demands = problem;
  for (std::size_t row = 0; row < problem.rows(); ++row) {
    const double demand = problem.floor[row] + problem.part[row] * level;
    demands.part[row] = std::min(demand, largest_rate(problem, row));
    demands.floor[row] = 0;
  }
  FL_TRY_ASSIGN(met, raise_level(demands));
  return met.objective >= 1 - kPossible ||
         std::ranges::all_of(demands.part, [](double part) { return part <= 0; });
}

// Fixes at full time the rows that reach it first, up to the highest feasible level. If there is
// much room, rows become full one after another: this takes log rows steps for all.
Result<std::size_t> fix_full_rows(ShareProblem& problem) {
  struct Rising {
    double limit;
    std::size_t row;
  };
  std::vector<Rising> rising;
  for (std::size_t row = 0; row < problem.rows(); ++row) {
    if (problem.part[row] <= 0) continue;
    const double left = largest_rate(problem, row) - problem.floor[row];
    rising.push_back({left / problem.part[row], row});
  }
  std::ranges::stable_sort(rising, {}, &Rising::limit);
  std::size_t full = 0;  // so many are possible
  std::size_t end = rising.size();
  while (full < end) {
    const std::size_t middle = full + (end - full) / 2;
    FL_TRY_ASSIGN(possible, is_possible(problem, rising[middle].limit));
    if (possible) {
      full = middle + 1;
    } else {
      end = middle;
    }
  }
  for (std::size_t i = 0; i < full; ++i) {
    problem.floor[rising[i].row] = largest_rate(problem, rising[i].row);
    problem.part[rising[i].row] = 0;
  }
  return rising.size() - full;
}

}  // namespace

Result<Allocation> max_min(const ShareProblem& problem, Ties ties) {
  const Merged merged = merge(problem);
  FL_TRY_ASSIGN(raised, raise_level(merged.problem));
  return choose(merged, raised, raised.objective, ties);
}

Result<Allocation> water_fill(const ShareProblem& problem) {
  Merged merged = merge(problem);
  ShareProblem& now = merged.problem;
  auto rising = static_cast<std::size_t>(
      std::ranges::count_if(now.part, [](double part) { return part > 0; }));
  std::optional<double> smallest;
  for (;;) {
    FL_TRY_ASSIGN(raised, raise_level(now));
    if (!smallest) smallest = raised.objective;
    std::size_t left = rising == 0 ? 0 : fix_rows(raised, now, rising);
    if (left == 0) return expand(merged, *smallest, raised.share);
    std::vector<double> full = raised.share;
    if (give_full_time(now, full)) return expand(merged, *smallest, full);
    if (left > rising / 2) {
      FL_TRY_ASSIGN(left_then, fix_full_rows(now));
      left = left_then;
    }
    rising = left;
  }
}

Result<Allocation> max_total(const ShareProblem& problem, std::span<const double> value) {
  FL_CHECK(value.size() == problem.rate.size(), "{} values", value.size());
  const Merged merged = merge(problem, value);
  FL_TRY_ASSIGN(best, maximise(merged.problem, merged.extra));
  return expand(merged, best.objective, best.share);
}

Result<Allocation> least_makespan(const ShareProblem& problem, std::span<const double> remaining,
                                  Ties ties) {
  ShareProblem work = problem;
  work.floor.assign(problem.rows(), 0.0);
  work.part.assign(remaining.begin(), remaining.end());
  FL_TRY_ASSIGN(allocation, max_min(work, ties));
  if (std::ranges::all_of(remaining, [](double steps) { return steps <= 0; })) return allocation;
  if (allocation.objective <= 0) {
    return run_error("one of {} rows of jobs has work left but no GPU type to run on",
                     problem.rows());
  }
  allocation.objective = 1 / allocation.objective;
  return allocation;
}

namespace {

// The columns of a Merged problem of finish times; the part is the remaining work.
struct Deadlines {
  const std::vector<double>& remaining;
  std::span<const double> times;  // rows x (age, isolated)

  double age_s(std::size_t row) const { return times[2 * row]; }
  double isolated_s(std::size_t row) const { return times[2 * row + 1]; }
  // Returns the progress that meets rho.
  double demand(std::size_t row, double rho) const {
    if (remaining[row] <= 0) return 0;
    return remaining[row] / (rho * isolated_s(row) - age_s(row));
  }
};

// No smaller rho is possible: at this one the first job needs its full speed. Jobs that are done do
// not count.
double rho_from_below(const Deadlines& deadlines) {
  double rho = 0;
  for (std::size_t row = 0; row < deadlines.remaining.size(); ++row) {
    if (deadlines.remaining[row] <= 0) continue;
    rho = std::max(rho,
                   (deadlines.age_s(row) + deadlines.remaining[row]) / deadlines.isolated_s(row));
  }
  return rho;
}

// Returns the next rho. Only the fraction `met` of the demands at rho can be met. The prices prove
// this: demand at prices must fall to `met`. Newton's method on a decreasing convex function, from
// the left.
double next_rho(const ShareProblem& problem, const Deadlines& deadlines, const Shares& raised,
                double rho) {
  const double met = raised.objective;
  for (int step = 0; step < kRhoTurns; ++step) {
    double demand = 0;
    double fall = 0;
    for (std::size_t row = 0; row < problem.rows(); ++row) {
      const double priced = problem.count[row] * raised.row_price[row] * deadlines.demand(row, rho);
      if (priced <= 0) continue;
      demand += priced;
      fall += priced * deadlines.isolated_s(row) /
              (rho * deadlines.isolated_s(row) - deadlines.age_s(row));
    }
    if (fall <= 0 || demand - met <= kRhoGap * met / 10) break;
    rho += (demand - met) / fall;
  }
  return rho;
}

// Returns the rows with their remaining work as the part, merged by their times too.
Result<Merged> merge_with_times(const ShareProblem& problem, const FinishTimes& times) {
  const std::size_t rows = problem.rows();
  FL_CHECK(times.remaining.size() == rows && times.age_s.size() == rows &&
               times.isolated_s.size() == rows,
           "{} rows", rows);
  ShareProblem work = problem;
  work.floor.assign(rows, 0.0);
  work.part = times.remaining;
  std::vector<double> ages;
  for (std::size_t row = 0; row < rows; ++row) {
    FL_CHECK(times.age_s[row] >= 0 && times.isolated_s[row] > 0, "row {}", row);
    if (times.remaining[row] > 0 && largest_rate(problem, row) <= 0) {
      return run_error("row {1} of {0} rows of jobs has work left but no GPU type to run on", rows,
                       row);
    }
    ages.insert(ages.end(), {times.age_s[row], times.isolated_s[row]});
  }
  return merge(work, ages);
}

}  // namespace

Result<Allocation> finish_time_fairness(const ShareProblem& problem, const FinishTimes& times,
                                        Ties ties) {
  FL_TRY_ASSIGN(merged, merge_with_times(problem, times));
  const std::vector<double> remaining = merged.problem.part;
  const Deadlines deadlines{remaining, merged.extra};
  const bool is_nothing_left =
      std::ranges::all_of(remaining, [](double steps) { return steps <= 0; });
  double rho = rho_from_below(deadlines);
  for (int turn = 0; turn < kRhoTurns; ++turn) {
    for (std::size_t row = 0; row < remaining.size(); ++row) {
      merged.problem.part[row] = deadlines.demand(row, rho);
    }
    FL_TRY_ASSIGN(raised, raise_level(merged.problem));
    const bool is_met = raised.objective >= 1 - kRhoGap || is_nothing_left;
    const double next = is_met ? rho : next_rho(merged.problem, deadlines, raised, rho);
    if (next - rho <= kRhoStep * rho) return choose(merged, raised, next, ties);
    rho = next;
  }
  return run_error("finish times of {} rows of jobs were not settled in {} turns", problem.rows(),
                   kRhoTurns);
}

}  // namespace fairlead
