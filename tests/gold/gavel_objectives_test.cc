// Our divisions of time are as good as the ones that the Gavel simulator recorded for its policies
// with linear programs. The test replays the recorded allocations. At every reset of every run,
// ours has the same objective or a better one for the jobs, ages and remaining steps at that time.
// The optima are not unique, so the shares themselves are not compared.
//
// Both objectives are computed from the shares, by one plain function. The test finds cases and
// policies by itself, and prints the comparisons, and the omissions with their reasons.
#include "fairlead/solve/allocations.h"

#include "gavel_files.h"
#include "gavel_replay.h"
#include "gold_csv.h"
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iostream>
#include <limits>
#include <map>
#include <optional>

namespace fairlead {
namespace {

namespace fs = std::filesystem;

constexpr double kTolerance = 1e-6;        // relative
constexpr double kSolverTolerance = 1e-4;  // tolerance of Gavel's solver
// The simulator searches the makespan by bisection from this time on, and stops at this ratio.
constexpr double kMakespanMinS = 100;
constexpr double kMakespanRatio = 1.05;

// The input of a policy at a reset.
struct Moment {
  ShareProblem problem;  // rates in steps/s, a row for each active job
  std::vector<double> weight;
  FinishTimes times;
};

// An objective: our value, and the value of any shares; the larger one is better if
// is_larger_better.
struct Objective {
  bool knows_speeds = false;
  bool is_larger_better = true;
  double slack = kSolverTolerance;  // tolerance for a recorded objective against ours
  std::function<Result<Allocation>(const Moment&)> solve;
  std::function<double(const Moment&, std::span<const double>)> of;
};

double progress(const ShareProblem& problem, std::size_t row, std::span<const double> shares) {
  double sum = 0;
  for (std::size_t i = row * problem.types(); i < (row + 1) * problem.types(); ++i) {
    sum += problem.rate[i] * shares[i];
  }
  return sum;
}

// Gavel compares jobs by progress per weight and GPU. It is relative to time on each type in
// proportion to its number.
ShareProblem with_fair_parts(const Moment& moment) {
  ShareProblem problem = moment.problem;
  double all = 0;
  for (const double gpus : problem.gpus) all += gpus;
  for (std::size_t row = 0; row < problem.rows(); ++row) {
    double equal = 0;
    for (std::size_t type = 0; type < problem.types(); ++type) {
      equal += problem.rate[row * problem.types() + type] * problem.gpus[type] / all;
    }
    problem.part[row] = equal * moment.weight[row] / problem.gang[row];
  }
  return problem;
}

double smallest_level(const Moment& moment, std::span<const double> shares) {
  const ShareProblem problem = with_fair_parts(moment);
  double level = std::numeric_limits<double>::infinity();
  for (std::size_t row = 0; row < problem.rows(); ++row) {
    level = std::min(level, progress(problem, row, shares) / problem.part[row]);
  }
  return level;
}

double total_progress(const Moment& moment, std::span<const double> shares) {
  double sum = 0;
  for (std::size_t row = 0; row < moment.problem.rows(); ++row) {
    sum += progress(moment.problem, row, shares);
  }
  return sum;
}

double makespan(const Moment& moment, std::span<const double> shares) {
  double longest = kMakespanMinS;
  for (std::size_t row = 0; row < moment.problem.rows(); ++row) {
    longest =
        std::max(longest, moment.times.remaining[row] / progress(moment.problem, row, shares));
  }
  return longest;
}

double largest_rho(const Moment& moment, std::span<const double> shares) {
  const FinishTimes& times = moment.times;
  double rho = 0;
  for (std::size_t row = 0; row < moment.problem.rows(); ++row) {
    const double left_s = times.remaining[row] / progress(moment.problem, row, shares);
    rho = std::max(rho, (times.age_s[row] + left_s) / times.isolated_s[row]);
  }
  return rho;
}

// Returns the objective by the simulator's name of the policy; none for a policy without a linear
// program.
std::optional<Objective> objective_of(std::string name) {
  const std::size_t perf = name.find("_Perf");
  const bool knows_speeds = perf != std::string::npos || name == "ThroughputSumWithPerf";
  name = name.substr(0, perf);
  if (name == "MaxMinFairness") {
    return Objective{.knows_speeds = knows_speeds,
                     .solve = [](const Moment& m) { return max_min(with_fair_parts(m)); },
                     .of = smallest_level};
  }
  if (name == "MaxMinFairnessWaterFilling") {
    return Objective{.knows_speeds = knows_speeds,
                     .solve = [](const Moment& m) { return water_fill(with_fair_parts(m)); },
                     .of = smallest_level};
  }
  if (name == "ThroughputSumWithPerf") {
    return Objective{.knows_speeds = knows_speeds,
                     .solve = [](const Moment& m) { return max_total(m.problem, m.problem.rate); },
                     .of = total_progress};
  }
  if (name == "MinTotalDuration") {
    return Objective{
        .knows_speeds = knows_speeds,
        .is_larger_better = false,
        .slack = kMakespanRatio - 1,
        .solve = [](const Moment& m) { return least_makespan(m.problem, m.times.remaining); },
        .of = makespan};
  }
  if (name == "FinishTimeFairness") {
    return Objective{
        .knows_speeds = knows_speeds,
        .is_larger_better = false,
        .solve = [](const Moment& m) { return finish_time_fairness(m.problem, m.times); },
        .of = largest_rho};
  }
  return std::nullopt;
}

// Follows a run from reset to reset. A job's time in isolation adds up at the rates that it would
// have had among the jobs of each reset.
class Follower {
 public:
  Follower(const GavelWorld& world, const Objective& objective, bool is_max_min)
      : world_(world), objective_(objective), is_max_min_(is_max_min) {}

  Moment moment(const GavelReset& reset) {
    Moment now;
    for (const std::uint32_t gpus : world_.gpus) now.problem.gpus.push_back(gpus);
    const std::size_t rows = reset.active.size();
    now.problem.count.assign(rows, 1.0);
    now.problem.floor.assign(rows, 0.0);
    now.problem.part.assign(rows, 0.0);
    for (const auto& [id, remaining_steps] : reset.active) {
      const GavelJob& job = world_.jobs[id];
      const std::vector<double> rates = rates_of(job);
      now.problem.gang.push_back(job.gang);
      now.problem.rate.insert(now.problem.rate.end(), rates.begin(), rates.end());
      now.weight.push_back(job.weight);
      const auto remaining = static_cast<double>(remaining_steps);
      now.times.remaining.push_back(remaining);
      now.times.age_s.push_back(reset.now_s - job.arrival_s);
      now.times.isolated_s.push_back(isolated_s(id, remaining, rates, rows));
    }
    return now;
  }

 private:
  struct Isolated {
    double elapsed_s = 0;
    double remaining = 0;
    double rate = 0;
  };

  // Returns the speeds that the policy assumes.
  std::vector<double> rates_of(const GavelJob& job) const {
    if (objective_.knows_speeds) return job.throughputs;
    const auto v100 = std::ranges::find(world_.types, "v100") - world_.types.begin();
    const double rate = is_max_min_ ? 1 : job.throughputs[static_cast<std::size_t>(v100)];
    return std::vector(world_.types.size(), rate);
  }

  double isolated_s(std::uint32_t id, double remaining, std::span<const double> rates,
                    std::size_t jobs) {
    std::vector<double> shares;
    double sum = 0;
    for (const std::uint32_t gpus : world_.gpus) {
      shares.push_back(gpus / static_cast<double>(jobs * world_.jobs[id].gang));
      sum += shares.back();
    }
    double rate = 0;
    for (std::size_t k = 0; k < rates.size(); ++k)
      rate += rates[k] * shares[k] / std::max(1.0, sum);
    Isolated& own = isolated_[id];
    if (own.rate > 0) own.elapsed_s += (own.remaining - remaining) / own.rate;
    own.remaining = remaining;
    own.rate = rate;
    return own.elapsed_s + remaining / rate;
  }

  const GavelWorld& world_;
  const Objective& objective_;
  bool is_max_min_;
  std::map<std::uint32_t, Isolated> isolated_;
};

GavelRules rules_of(const GavelSummary& summary) {
  GavelRules rules{.round_s = summary.interval_s};
  if (summary.policy_name.find("Perf") == std::string::npos) rules.shuffle_seed = summary.seed + 5;
  return rules;
}

fs::path allocations_file(const fs::path& folder) {
  const fs::path plain = folder / "allocations.jsonl";
  return fs::exists(plain) ? plain : folder / "allocations.jsonl.gz";
}

// Compares one policy of one case.
void compare(const std::string& label, const fs::path& trace, const fs::path& folder,
             const GavelThroughputs& throughputs, const Objective& objective) {
  const GavelSummary summary = read_gavel_summary(folder / "summary.json");
  const GavelWorld world = read_gavel_world(trace, summary.gpus, throughputs);
  const GavelAllocate theirs = recorded(world, read_gavel_allocations(allocations_file(folder)));
  Follower follower(world, objective, summary.policy_name.starts_with("MaxMin"));
  std::size_t resets = 0;
  double least = std::numeric_limits<double>::infinity();
  double most = 0;
  replay(world, rules_of(summary), [&](const GavelReset& reset) {
    const std::vector<double> shares = theirs(reset);
    if (reset.active.empty()) return shares;
    const Moment moment = follower.moment(reset);
    const auto ours = objective.solve(moment);
    EXPECT_TRUE(ours.has_value());
    if (!ours) return shares;
    const double recorded_value = objective.of(moment, shares);
    const double value = objective.of(moment, ours->share);
    const double better =
        objective.is_larger_better ? value / recorded_value : recorded_value / value;
    least = std::min(least, better);
    most = std::max(most, better);
    ++resets;
    return shares;
  });
  EXPECT_GT(resets, 0U);
  EXPECT_GE(least, 1 - kTolerance);
  EXPECT_LE(most, 1 + objective.slack);
  std::cout << label << ": " << resets << " resets, ours better by a factor of " << least << " to "
            << most << "\n";
}

std::vector<fs::path> sorted_folders(const fs::path& folder) {
  std::vector<fs::path> folders = {folder};
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (entry.is_directory()) folders.push_back(entry.path());
  }
  std::ranges::sort(folders);
  return folders;
}

TEST(GavelObjectives, OursAreAsGoodAtEveryReset) {
  const fs::path cases = gold_folder() / "gavel";
  const fs::path speeds = cases / "common" / "simulation_throughputs.json.gz";
  if (!fs::exists(speeds)) GTEST_SKIP() << "no throughputs at " << speeds.string();
  const GavelThroughputs throughputs = read_gavel_throughputs(speeds);
  for (const fs::path& folder : sorted_folders(cases)) {
    if (!fs::exists(folder / "trace.tsv")) continue;
    int compared = 0;
    for (const fs::path& policy : sorted_folders(folder)) {
      if (!fs::exists(policy / "summary.json")) continue;
      const std::string label = "gold objectives " + fs::relative(policy, cases).string();
      SCOPED_TRACE(label);
      const auto objective = objective_of(read_gavel_summary(policy / "summary.json").policy_name);
      if (!objective) {
        std::cout << label << ": skipped, not a linear program over single jobs\n";
        continue;
      }
      compare(label, folder / "trace.tsv", policy, throughputs, *objective);
      ++compared;
    }
    EXPECT_GT(compared, 0) << "nothing was compared in " << folder.string();
  }
  std::cout << "gold objectives shockwave: skipped, no allocations were recorded\n";
}

}  // namespace
}  // namespace fairlead
