#include "fairlead/solve/time_shares.h"

#include "fairlead/base/check.h"
#include "fairlead/solve/linear_program.h"
#include "fairlead/solve/time_shares_master.h"
#include "fairlead/solve/time_shares_rows.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace fairlead {
namespace {

// The loop goes below kShareGap while that costs little.
constexpr double kGapAimed = 1e-13;
// If the floors leave hardly any room, prices are very high: their products then round the bound,
// not the mix. A mix that no price improves is then accepted with this gap.
constexpr double kRoundingGap = 1e-6;
constexpr double kRoundingUnit = 1e-15;  // rounding error of values of at most 1
constexpr double kCapacitySlack = 1e-9;
constexpr int kIdleTurns = 40;
// Fraction of the way from the master's prices to the best known ones for the next query: the
// master's own prices swing widely (Wentges 1997).
constexpr double kPull = 0.3;
// A row that could gain no more than this fraction of its largest rate is full.
constexpr double kFull = 1e-12;

void check(const ShareProblem& problem) {
  const std::size_t rows = problem.rows();
  FL_CHECK(problem.count.size() == rows && problem.floor.size() == rows &&
               problem.part.size() == rows && problem.rate.size() == rows * problem.types(),
           "{} rows and {} types, but {} counts, {} floors, {} parts and {} rates", rows,
           problem.types(), problem.count.size(), problem.floor.size(), problem.part.size(),
           problem.rate.size());
  const auto is_amount = [](double value) { return value >= 0 && std::isfinite(value); };
  for (const auto* values : {&problem.gpus, &problem.rate, &problem.floor, &problem.part}) {
    FL_CHECK(std::ranges::all_of(*values, is_amount));
  }
  for (const auto* values : {&problem.gang, &problem.count}) {
    FL_CHECK(std::ranges::all_of(*values, [&](double v) { return is_amount(v) && v > 0; }));
  }
}

double usable_rate(const ShareProblem& problem, std::size_t row, std::size_t type) {
  return problem.gpus[type] > 0 ? problem.rate[row * problem.types() + type] : 0;
}

double progress(const ShareProblem& problem, std::size_t row, std::span<const double> shares) {
  double sum = 0;
  for (std::size_t k = row * problem.types(); k < (row + 1) * problem.types(); ++k) {
    sum += problem.rate[k] * shares[k];
  }
  return sum;
}

// With parts for a level of 1 at `level_max`.
ShareRows normalised(const ShareProblem& problem, double level_max) {
  const std::size_t types = problem.types();
  ShareRows rows{.types = types, .count = problem.count};
  rows.rate.resize(problem.rows() * types);
  rows.cost.resize(problem.rows() * types);
  for (std::size_t row = 0; row < problem.rows(); ++row) {
    const double largest = largest_rate(problem, row);
    const double scale = largest > 0 ? 1 / largest : 0;
    rows.floor.push_back(std::min(1.0, problem.floor[row] * scale));
    rows.part.push_back(problem.part[row] * level_max * scale);
    for (std::size_t type = 0; type < types; ++type) {
      rows.rate[row * types + type] = usable_rate(problem, row, type) / (largest > 0 ? largest : 1);
      rows.cost[row * types + type] =
          problem.gpus[type] > 0 ? problem.gang[row] / problem.gpus[type] : 0;
    }
  }
  return rows;
}

std::vector<double> usage_of(const ShareRows& rows, std::span<const double> shares) {
  std::vector<double> usage(rows.types, 0.0);
  for (std::size_t i = 0; i < shares.size(); ++i) {
    usage[i % rows.types] += rows.count[i / rows.types] * rows.cost[i] * shares[i];
  }
  return usage;
}

// The best mix of answers, starting from a feasible one.
struct Mix {
  bool done = false;
  double value = 0;
  std::vector<double> prices;
  std::vector<double> shares;
  int turns = 0;
};

Mix mix_answers(const ShareRows& rows, ShareAnswers& rule, double start_value,
                std::span<const double> start) {
  ShareMaster master;
  master.start(start_value, usage_of(rows, start));
  std::vector<ShareAnswer> answers;
  Mix mix{.prices = std::vector(rows.types, 0.0)};
  std::vector<double> asked(rows.types, 0.0);
  double bound = std::numeric_limits<double>::infinity();
  double pull = 0;  // no prices are known at first
  int idle = 0;     // turns since anything moved
  bool stalled = false;
  while (mix.turns < kShareTurns) {
    const bool is_best = master.optimise();
    idle = master.value() > mix.value ? 0 : idle + 1;
    mix.value = master.value();
    if (!is_best) break;
    if (bound - mix.value <= kGapAimed * std::abs(mix.value)) break;
    for (std::size_t k = 0; k < asked.size(); ++k) {
      asked[k] = pull * mix.prices[k] + (1 - pull) * std::max(0.0, master.prices()[k]);
    }
    ShareAnswer answer = rule.ask(asked);
    ++mix.turns;
    double proven = answer.value;
    for (std::size_t k = 0; k < asked.size(); ++k) proven += asked[k] * (1 - answer.usage[k]);
    if (proven < bound) {
      bound = proven;
      idle = 0;
      mix.prices = asked;
    }
    if (master.gain(answer.value, answer.usage) > 0) {
      master.add(answer.value, answer.usage);
      answers.push_back(std::move(answer));
      pull = kPull;
    } else if (pull > 0) {
      pull = 0;
    } else {
      idle = kIdleTurns;  // the master's own prices bring nothing new
    }
    // The rest is rounding.
    stalled = idle >= kIdleTurns;
    if (stalled) break;
  }
  const double gap_max = std::abs(mix.value) * (stalled ? kRoundingGap : kShareGap);
  mix.done = bound - mix.value <= gap_max + kRoundingUnit;
  const std::vector<double> weights = master.weights();
  mix.shares.assign(start.begin(), start.end());
  for (double& share : mix.shares) share *= weights[0];
  for (std::size_t i = 0; i < answers.size(); ++i) {
    if (weights[i + 1] > 0) rule.add_shares(answers[i], weights[i + 1], mix.shares);
  }
  const auto is_kept = [](double part) { return part <= 1 + kCapacitySlack; };
  mix.done = mix.done && std::ranges::all_of(usage_of(rows, mix.shares), is_kept);
  return mix;
}

// The whole program for Clp: the shares, column by column as in `rows`, then the level if `value`
// is empty. Its rows: the sums of shares, the floors, the capacities.
Result<Mix> solve_by_clp(const ShareRows& rows, std::span<const double> value,
                         std::vector<double>* row_prices) {
  LinearProgram program(LinearProgram::Sense::kMaximise);
  for (std::size_t i = 0; i < rows.rate.size(); ++i) {
    program.add_column(value.empty() ? 0 : value[i], {0, rows.rate[i] > 0 ? 1.0 : 0.0});
  }
  if (value.empty()) program.add_column(1, {});
  for (std::size_t row = 0; row < rows.rows(); ++row) program.add_row({0, 1});
  for (std::size_t row = 0; row < rows.rows(); ++row) {
    program.add_row({rows.floor[row], LinearProgram::kInfinity});
    if (value.empty()) program.add(rows.rows() + row, rows.rate.size(), -rows.part[row]);
  }
  for (std::size_t type = 0; type < rows.types; ++type) program.add_row({0, 1});
  for (std::size_t i = 0; i < rows.rate.size(); ++i) {
    if (rows.rate[i] <= 0) continue;
    const std::size_t row = i / rows.types;
    program.add(row, i, 1);
    program.add(rows.rows() + row, i, rows.rate[i]);
    program.add(2 * rows.rows() + i % rows.types, i, rows.count[row] * rows.cost[i]);
  }
  FL_TRY_ASSIGN(solution, solve(program));
  Mix mix{.done = true, .value = solution.objective};
  for (std::size_t i = 0; i < rows.rate.size(); ++i) {
    mix.shares.push_back(std::clamp(solution.values[i], 0.0, 1.0));
  }
  const auto prices = solution.row_prices.begin() + static_cast<std::ptrdiff_t>(rows.rows());
  if (row_prices != nullptr) {
    row_prices->clear();
    for (std::size_t row = 0; row < rows.rows(); ++row) {
      row_prices->push_back(
          std::max(0.0, -prices[static_cast<std::ptrdiff_t>(row)] / rows.count[row]));
    }
  }
  mix.prices.assign(prices + static_cast<std::ptrdiff_t>(rows.rows()), solution.row_prices.end());
  return mix;
}

// Shares that meet the floors, and the floors as they meet them.
struct Start {
  std::vector<double> shares;
  std::vector<double> floor;
  int turns = 0;
  bool by_clp = false;
};

// Returns the largest level that each row could reach; infinite if no row has a part.
double level_limit(const ShareProblem& problem) {
  double limit = std::numeric_limits<double>::infinity();
  for (std::size_t row = 0; row < problem.rows(); ++row) {
    if (problem.part[row] <= 0) continue;
    limit = std::min(limit, (largest_rate(problem, row) - problem.floor[row]) / problem.part[row]);
  }
  return limit;
}

// The rows at their largest rate limit the level to 0 by themselves.
std::vector<double> prices_of_full_rows(const ShareProblem& problem) {
  std::vector<double> prices(problem.rows(), 0.0);
  double sum = 0;
  for (std::size_t row = 0; row < problem.rows(); ++row) {
    const double largest = largest_rate(problem, row);
    if (problem.part[row] <= 0 || largest - problem.floor[row] > kFull * largest) continue;
    prices[row] = 1;
    sum += problem.part[row] * problem.count[row];
  }
  for (double& price : prices) price = sum > 0 ? price / sum : 0;
  return prices;
}

// Runs raise_level from shares that meet the floors.
Result<Shares> raise_from(const ShareProblem& problem, const Start& start, ShareMethod method) {
  const double limit = level_limit(problem);
  Shares result{.share = start.shares,
                .row_price = prices_of_full_rows(problem),
                .gpu_price = std::vector(problem.types(), 0.0),
                .turns = start.turns,
                .by_clp = start.by_clp};
  const auto binds = [](double price) { return price > 0; };
  if (std::isinf(limit) || std::ranges::any_of(result.row_price, binds)) return result;

  const ShareRows rows = normalised(problem, limit);
  double level = 1;
  for (std::size_t row = 0; row < rows.rows(); ++row) {
    if (rows.part[row] <= 0) continue;
    const double above = progress(problem, row, start.shares) - problem.floor[row];
    level = std::min(level, above / (problem.part[row] * limit));
  }
  LevelAnswers rule(rows);
  Mix mix;
  if (method == ShareMethod::kPrices) {
    mix = mix_answers(rows, rule, std::max(0.0, level), start.shares);
  }
  result.turns += mix.turns;
  if (mix.done) {
    result.row_price = rule.row_prices(mix.prices, mix.value);
  } else {
    FL_TRY_ASSIGN(whole, solve_by_clp(rows, {}, &result.row_price));
    mix = std::move(whole);
    result.by_clp = true;
  }
  result.objective = mix.value * limit;
  result.share = std::move(mix.shares);
  for (std::size_t row = 0; row < rows.rows(); ++row) {
    const double largest = largest_rate(problem, row);
    if (largest > 0) result.row_price[row] *= limit / largest;
  }
  for (std::size_t type = 0; type < rows.types; ++type) {
    if (problem.gpus[type] > 0) {
      result.gpu_price[type] = std::max(0.0, mix.prices[type]) * limit / problem.gpus[type];
    }
  }
  return result;
}

// Raises the floors from nothing, all at the same pace.
Result<Start> meet_floors(const ShareProblem& problem, ShareMethod method) {
  Start nothing{.shares = std::vector(problem.rate.size(), 0.0),
                .floor = std::vector(problem.rows(), 0.0)};
  if (std::ranges::all_of(problem.floor, [](double floor) { return floor <= 0; })) return nothing;
  ShareProblem rise = problem;
  rise.part = problem.floor;
  rise.floor = nothing.floor;
  FL_TRY_ASSIGN(met, raise_from(rise, nothing, method));
  if (met.objective < 1 - kFloorSlack) {
    return run_error(
        "shares of {} rows of jobs and {} GPU types cannot meet their floors: at most {} of each",
        problem.rows(), problem.types(), met.objective);
  }
  Start start{.shares = std::move(met.share),
              .floor = problem.floor,
              .turns = met.turns,
              .by_clp = met.by_clp};
  for (double& floor : start.floor) floor *= std::min(1.0, met.objective);
  return start;
}

}  // namespace

double largest_rate(const ShareProblem& problem, std::size_t row) {
  double largest = 0;
  for (std::size_t type = 0; type < problem.types(); ++type) {
    largest = std::max(largest, usable_rate(problem, row, type));
  }
  return largest;
}

Result<Shares> raise_level(const ShareProblem& problem, ShareMethod method) {
  check(problem);
  FL_TRY_ASSIGN(start, meet_floors(problem, method));
  ShareProblem met = problem;
  met.floor = start.floor;
  return raise_from(met, start, method);
}

Result<Shares> maximise(const ShareProblem& problem, std::span<const double> value,
                        ShareMethod method) {
  check(problem);
  FL_CHECK(value.size() == problem.rate.size(), "{} values", value.size());
  FL_TRY_ASSIGN(start, meet_floors(problem, method));
  ShareProblem met = problem;
  met.floor = start.floor;
  const ShareRows rows = normalised(met, 1);
  const std::size_t types = rows.types;
  double limit = 0;
  std::vector<double> worth(value.size(), 0.0);  // worth of all the jobs of a row
  for (std::size_t row = 0; row < rows.rows(); ++row) {
    double largest = 0;
    for (std::size_t i = row * types; i < (row + 1) * types; ++i) {
      if (rows.rate[i] > 0) worth[i] = value[i] * rows.count[row];
      largest = std::max(largest, std::abs(worth[i]));
    }
    limit += largest;
  }
  Shares result{.share = start.shares,
                .gpu_price = std::vector(types, 0.0),
                .turns = start.turns,
                .by_clp = start.by_clp};
  if (limit <= 0) return result;
  for (double& one : worth) one /= limit;

  ValueAnswers rule(rows, worth);
  const double start_value =
      std::inner_product(worth.begin(), worth.end(), start.shares.begin(), 0.0);
  Mix mix;
  if (method == ShareMethod::kPrices) mix = mix_answers(rows, rule, start_value, start.shares);
  result.turns += mix.turns;
  if (!mix.done) {
    FL_TRY_ASSIGN(whole, solve_by_clp(rows, worth, nullptr));
    mix = std::move(whole);
    result.by_clp = true;
  }
  result.objective = mix.value * limit;
  result.share = std::move(mix.shares);
  for (std::size_t type = 0; type < types; ++type) {
    if (problem.gpus[type] > 0) {
      result.gpu_price[type] = std::max(0.0, mix.prices[type]) * limit / problem.gpus[type];
    }
  }
  return result;
}

}  // namespace fairlead
