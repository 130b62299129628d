#include "fairlead/policy/gavel/objectives.h"

#include "fairlead/base/check.h"
#include "fairlead/solve/allocations.h"

#include <algorithm>
#include <numeric>

namespace fairlead {
namespace {

constexpr std::size_t kNowhere = ~std::size_t{0};

using Table = std::vector<double>;

std::span<const double> row_of(const Table& table, std::size_t row, std::size_t types) {
  return std::span(table).subspan(row * types, types);
}

bool runs_somewhere(const GavelJobs& jobs, std::size_t row) {
  return std::ranges::max(row_of(jobs.throughputs, row, jobs.types())) > 0;
}

// Returns the throughputs as a rule without knowledge of speeds sees them: one number on every type
// that can run the job.
Table throughputs_for(const GavelRule& rule, const GavelJobs& jobs) {
  Table throughputs = jobs.throughputs;
  if (rule.aware) return throughputs;
  const bool in_steps =
      rule.objective == GavelObjective::kFtf || rule.objective == GavelObjective::kMakespan;
  for (std::size_t row = 0; row < jobs.rows(); ++row) {
    const double fastest = std::ranges::max(row_of(jobs.throughputs, row, jobs.types()));
    for (std::size_t type = 0; type < jobs.types(); ++type) {
      double& throughput = throughputs[row * jobs.types() + type];
      if (throughput > 0) throughput = in_steps ? fastest : 1.0;
    }
  }
  return throughputs;
}

// The jobs that can run on some type, as rows of a linear program; the others are due nothing.
struct Runnable {
  ShareProblem problem;
  std::vector<std::size_t> rows;  // row of each job
};

Runnable runnable(const GavelJobs& jobs, const Table& throughputs) {
  Runnable some;
  some.problem.gpus = jobs.gpus;
  for (std::size_t row = 0; row < jobs.rows(); ++row) {
    if (!runs_somewhere(jobs, row)) continue;
    some.rows.push_back(row);
    some.problem.gang.push_back(jobs.gangs[row]);
    some.problem.count.push_back(1);
    some.problem.floor.push_back(0);
    const auto rates = row_of(throughputs, row, jobs.types());
    some.problem.rate.insert(some.problem.rate.end(), rates.begin(), rates.end());
  }
  some.problem.part.assign(some.rows.size(), 0);
  return some;
}

std::vector<double> of_rows(const Runnable& some, const std::vector<double>& column) {
  std::vector<double> values;
  values.reserve(some.rows.size());
  for (std::size_t row : some.rows) values.push_back(column[row]);
  return values;
}

// A job's part makes throughputs comparable: its throughput if it spent its time on the types in
// proportion to their GPUs. It is divided by weight and, because gangs have several GPUs, by GPU
// (4.1).
void set_parts(const GavelJobs& jobs, Runnable& some) {
  const std::size_t types = jobs.types();
  const double gpus = std::accumulate(jobs.gpus.begin(), jobs.gpus.end(), 0.0);
  for (std::size_t i = 0; i < some.rows.size(); ++i) {
    double proportional = 0;
    for (std::size_t type = 0; type < types; ++type) {
      proportional += some.problem.rate[i * types + type] * jobs.gpus[type] / gpus;
    }
    some.problem.part[i] = jobs.weights[some.rows[i]] * proportional / some.problem.gang[i];
  }
}

Result<Allocation> ftf(const GavelJobs& jobs, const Runnable& some, const Table& throughputs,
                       Ties ties) {
  const std::vector<double> isolated = of_rows(some, isolated_throughputs(jobs, throughputs));
  FinishTimes times{.remaining = of_rows(some, jobs.remaining_s),
                    .age_s = of_rows(some, jobs.age_s),
                    .isolated_s = of_rows(some, jobs.isolated_s)};
  for (std::size_t i = 0; i < some.rows.size(); ++i) {
    times.isolated_s[i] += times.remaining[i] / isolated[i];
  }
  return finish_time_fairness(some.problem, times, ties);
}

// Every throughput counts in its job's own scale (4.3, algorithm as published by the authors).
Result<Allocation> max_throughput(const GavelJobs& jobs, const Runnable& some) {
  const std::size_t types = jobs.types();
  std::vector<double> values = some.problem.rate;
  for (std::size_t i = 0; i < some.rows.size(); ++i) {
    const std::span row = std::span(values).subspan(i * types, types);
    const double sum = std::accumulate(row.begin(), row.end(), 0.0);
    for (double& value : row) value /= sum;
  }
  return max_total(some.problem, values);
}

Result<Allocation> by_program(const GavelRule& rule, const GavelJobs& jobs, Runnable& some,
                              const Table& throughputs) {
  switch (rule.objective) {
    case GavelObjective::kFtf:
      return ftf(jobs, some, throughputs, rule.ties);
    case GavelObjective::kMakespan:
      return least_makespan(some.problem, of_rows(some, jobs.remaining_s), rule.ties);
    case GavelObjective::kMaxThroughput:
      return max_throughput(jobs, some);
    default:
      set_parts(jobs, some);
      return rule.water_filling ? water_fill(some.problem) : max_min(some.problem, rule.ties);
  }
}

// In order of arrival, each job gets the fastest type that has room; none overtakes.
Table fifo_aware(const GavelJobs& jobs) {
  Table shares(jobs.rows() * jobs.types());
  std::vector<double> left = jobs.gpus;
  for (std::size_t row = 0; row < jobs.rows(); ++row) {
    if (!runs_somewhere(jobs, row)) continue;
    const auto throughputs = row_of(jobs.throughputs, row, jobs.types());
    std::size_t best = kNowhere;
    for (std::size_t type = 0; type < jobs.types(); ++type) {
      if (left[type] < jobs.gangs[row]) continue;
      if (best == kNowhere || throughputs[type] > throughputs[best]) best = type;
    }
    if (best == kNowhere) break;
    if (throughputs[best] <= 0) continue;
    left[best] -= jobs.gangs[row];
    shares[row * jobs.types() + best] = 1;
  }
  return shares;
}

// A job that has a type keeps it; newcomers, in order of arrival, get any type that has room.
Table fifo_agnostic(const GavelJobs& jobs, Rng& rng) {
  Table shares(jobs.rows() * jobs.types());
  std::vector<double> left = jobs.gpus;
  std::vector<bool> keeps(jobs.rows(), false);
  for (std::size_t cell = 0; cell < shares.size(); ++cell) {
    const std::size_t row = cell / jobs.types();
    double& room = left[cell % jobs.types()];
    if (jobs.shares[cell] <= 0 || jobs.throughputs[cell] <= 0 || room < jobs.gangs[row]) continue;
    room -= jobs.gangs[row];
    shares[cell] = 1;
    keeps[row] = true;
  }
  std::vector<std::size_t> choices;
  for (std::size_t row = 0; row < jobs.rows(); ++row) {
    if (keeps[row] || !runs_somewhere(jobs, row)) continue;
    choices.clear();
    for (std::size_t type = 0; type < jobs.types(); ++type) {
      const bool can_run = jobs.throughputs[row * jobs.types() + type] > 0;
      if (can_run && left[type] >= jobs.gangs[row]) choices.push_back(type);
    }
    if (choices.empty()) break;
    const std::size_t type = choices[rng.below(choices.size())];
    left[type] -= jobs.gangs[row];
    shares[row * jobs.types() + type] = 1;
  }
  return shares;
}

// Returns an equal share of every type for each job, but at most its whole time.
Table isolated_shares(const GavelJobs& jobs) {
  Table shares(jobs.rows() * jobs.types());
  for (std::size_t row = 0; row < jobs.rows(); ++row) {
    double sum = 0;
    for (std::size_t type = 0; type < jobs.types(); ++type) {
      double& share = shares[row * jobs.types() + type];
      share = jobs.gpus[type] / (static_cast<double>(jobs.rows()) * jobs.gangs[row]);
      sum += share;
    }
    for (std::size_t type = 0; type < jobs.types(); ++type) {
      shares[row * jobs.types() + type] /= std::max(1.0, sum);
    }
  }
  return shares;
}

}  // namespace

std::vector<double> gavel_shares(const GavelRule& rule, const GavelJobs& jobs, Rng& rng) {
  if (rule.objective == GavelObjective::kFifo) {
    return rule.aware ? fifo_aware(jobs) : fifo_agnostic(jobs, rng);
  }
  if (rule.objective == GavelObjective::kIsolated) return isolated_shares(jobs);
  const Table throughputs = throughputs_for(rule, jobs);
  Runnable some = runnable(jobs, throughputs);
  Table shares(jobs.rows() * jobs.types());
  if (some.rows.empty()) return shares;
  const Result<Allocation> allocation = by_program(rule, jobs, some, throughputs);
  FL_CHECK(allocation.has_value(), "{}", allocation.error().message);
  const std::size_t types = jobs.types();
  for (std::size_t i = 0; i < some.rows.size(); ++i) {
    const auto from = row_of(allocation->share, i, types);
    std::ranges::copy(from, shares.begin() + static_cast<std::ptrdiff_t>(some.rows[i] * types));
  }
  return shares;
}

std::vector<double> isolated_throughputs(const GavelJobs& jobs,
                                         const std::vector<double>& throughputs) {
  const Table shares = isolated_shares(jobs);
  std::vector<double> sums(jobs.rows());
  for (std::size_t cell = 0; cell < shares.size(); ++cell) {
    sums[cell / jobs.types()] += shares[cell] * throughputs[cell];
  }
  return sums;
}

}  // namespace fairlead
