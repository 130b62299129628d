#include "fairlead/solve/time_shares.h"

#include "fairlead/base/rng.h"
#include "fairlead/solve/testing_shares.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace fairlead {
namespace {

// Clp meets each row to 1e-9.
constexpr double kTiny = 1e-8;

double progress(const ShareProblem& problem, const Shares& shares, std::size_t row) {
  double sum = 0;
  for (std::size_t k = row * problem.types(); k < (row + 1) * problem.types(); ++k) {
    sum += problem.rate[k] * shares.share[k];
  }
  return sum;
}

void expect_fits(const ShareProblem& problem, const Shares& shares, double level) {
  const std::size_t types = problem.types();
  std::vector<double> used(types, 0.0);
  for (std::size_t row = 0; row < problem.rows(); ++row) {
    double time = 0;
    double largest = 0;
    for (std::size_t type = 0; type < types; ++type) {
      const double share = shares.share[row * types + type];
      EXPECT_GE(share, 0);
      EXPECT_TRUE(share == 0 || problem.rate[row * types + type] > 0);
      time += share;
      used[type] += share * problem.count[row] * problem.gang[row];
      largest = std::max(largest, problem.rate[row * types + type]);
    }
    EXPECT_LE(time, 1 + 1e-9);
    EXPECT_GE(progress(problem, shares, row),
              problem.floor[row] + problem.part[row] * level - 1e-9 * largest);
  }
  for (std::size_t type = 0; type < types; ++type) {
    EXPECT_LE(used[type], problem.gpus[type] * (1 + 1e-9));
  }
}

// The prices are a proof: no answer has a higher level than this.
double proven_level(const ShareProblem& problem, const Shares& shares) {
  double bound = 0;
  for (std::size_t k = 0; k < problem.types(); ++k) {
    bound += problem.gpus[k] * shares.gpu_price[k];
  }
  for (std::size_t row = 0; row < problem.rows(); ++row) {
    double gain = 0;
    for (std::size_t k = 0; k < problem.types(); ++k) {
      if (problem.gpus[k] <= 0) continue;
      gain = std::max(gain, shares.row_price[row] * problem.rate[row * problem.types() + k] -
                                problem.gang[row] * shares.gpu_price[k]);
    }
    bound += problem.count[row] * (gain - shares.row_price[row] * problem.floor[row]);
  }
  return bound;
}

TEST(TimeShares, GivesTheFastTypeToWhoGainsMostFromIt) {
  // Two jobs on one fast and one slow GPU; the first runs 4 times as fast on the fast one, the
  // second 2 times. With x of the fast GPU for the second: 4(1 - x) + x = 1 - x + 2x, so x = 3/4.
  const ShareProblem problem{.gpus = {1, 1},
                             .gang = {1, 1},
                             .count = {1, 1},
                             .rate = {4, 1, 2, 1},
                             .floor = {0, 0},
                             .part = {1, 1}};
  const auto shares = raise_level(problem);
  ASSERT_TRUE(shares);
  EXPECT_NEAR(shares->objective, 1.75, 1e-12);
  const std::vector<double> want = {0.25, 0.75, 0.75, 0.25};
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(shares->share[i], want[i], 1e-12);
  EXPECT_NEAR(proven_level(problem, *shares), 1.75, 1e-12);
  EXPECT_FALSE(shares->by_clp);
}

TEST(TimeShares, RaisesNoRowAboveItsFullTime) {
  const ShareProblem problem{.gpus = {8},
                             .gang = {1, 1},
                             .count = {1, 2},
                             .rate = {2, 3},
                             .floor = {0, 0},
                             .part = {1, 1}};
  const auto shares = raise_level(problem);
  ASSERT_TRUE(shares);
  EXPECT_DOUBLE_EQ(shares->objective, 2);
  EXPECT_GT(shares->row_price[0], 0.99);
  EXPECT_EQ(shares->row_price[1], 0);
  EXPECT_EQ(shares->gpu_price[0], 0);
}

TEST(TimeShares, SaysWhenFloorsCannotBeMet) {
  const ShareProblem problem{
      .gpus = {1}, .gang = {1}, .count = {2}, .rate = {1}, .floor = {0.75}, .part = {1}};
  const auto shares = raise_level(problem);
  ASSERT_FALSE(shares);
  EXPECT_EQ(shares.error().kind, Error::Kind::kRun);
  EXPECT_TRUE(shares.error().message.starts_with(
      "shares of 1 rows of jobs and 1 GPU types cannot meet their floors"))
      << shares.error().message;
  EXPECT_FALSE(maximise(problem, std::vector{1.0}));
}

TEST(TimeShares, KeepsTheLevelAtZeroForAJobThatCannotRun) {
  const ShareProblem problem{.gpus = {4, 0},
                             .gang = {1, 1},
                             .count = {1, 1},
                             .rate = {1, 1, 0, 1},
                             .floor = {0.5, 0},
                             .part = {1, 1}};
  const auto shares = raise_level(problem);
  ASSERT_TRUE(shares);
  EXPECT_EQ(shares->objective, 0);
  EXPECT_EQ(shares->row_price, (std::vector<double>{0, 1}));
  expect_fits(problem, *shares, 0);
}

TEST(TimeShares, OfNoJobsAreEmpty) {
  const auto shares = raise_level({.gpus = {1, 2}});
  ASSERT_TRUE(shares);
  EXPECT_EQ(shares->objective, 0);
  EXPECT_TRUE(shares->share.empty());
  EXPECT_TRUE(maximise({.gpus = {1, 2}}, {}));
}

TEST(TimeShares, RaiseTheLevelAsHighAsThePlainProgram) {
  int met = 0;
  int by_clp = 0;
  EXPECT_TRUE(rc::check([&] {
    const ShareProblem problem = any_share_problem(30, 4);
    const auto plain = solve_plainly(problem);
    const auto ours = raise_level(problem);
    RC_ASSERT(ours.has_value() == plain.has_value());
    if (!ours) return;
    ++met;
    by_clp += ours->by_clp;
    RC_ASSERT(std::abs(ours->objective - plain->objective) <= 1e-9 * plain->objective + kTiny);
    expect_fits(problem, *ours, ours->objective);
    RC_ASSERT(std::abs(proven_level(problem, *ours) - ours->objective) <=
              1e-9 * ours->objective + kTiny);
  }));
  RecordProperty("by_clp", by_clp);
  EXPECT_GT(met, 20);
  EXPECT_EQ(by_clp, 0);
}

TEST(TimeShares, HaveTheValueOfThePlainProgram) {
  int met = 0;
  int by_clp = 0;
  EXPECT_TRUE(rc::check([&] {
    const ShareProblem problem = any_share_problem(30, 4);
    std::vector<double> value;
    for (std::size_t i = 0; i < problem.rate.size(); ++i) value.push_back(*rc::gen::inRange(0, 5));
    const auto plain = solve_plainly(problem, value);
    const auto ours = maximise(problem, value);
    RC_ASSERT(ours.has_value() == plain.has_value());
    if (!ours) return;
    ++met;
    by_clp += ours->by_clp;
    RC_ASSERT(std::abs(ours->objective - plain->objective) <= 1e-9 * plain->objective + kTiny);
    expect_fits(problem, *ours, 0);
  }));
  EXPECT_GT(met, 20);
  EXPECT_EQ(by_clp, 0);
}

TEST(TimeShares, AreAsGoodWhenClpFindsThem) {
  EXPECT_TRUE(rc::check([] {
    const ShareProblem problem = any_share_problem(10, 3);
    const auto ours = raise_level(problem);
    const auto by_clp = raise_level(problem, ShareMethod::kClp);
    RC_ASSERT(ours.has_value() == by_clp.has_value());
    if (!ours) return;
    RC_ASSERT(std::abs(ours->objective - by_clp->objective) <= 1e-8 * ours->objective + kTiny);
    expect_fits(problem, *by_clp, by_clp->objective);
    RC_ASSERT(std::abs(proven_level(problem, *by_clp) - by_clp->objective) <=
              1e-8 * by_clp->objective + kTiny);
    const auto most = maximise(problem, problem.rate);
    const auto most_by_clp = maximise(problem, problem.rate, ShareMethod::kClp);
    RC_ASSERT(most && most_by_clp);
    RC_ASSERT(std::abs(most->objective - most_by_clp->objective) <= 1e-8 * most->objective);
  }));
}

// Jobs as in a cluster: three types, gangs of 1 to 8, speeds that differ in all jobs.
ShareProblem many_jobs(std::size_t rows) {
  Rng rng(7);
  const double gpus = static_cast<double>(rows) / 4;
  ShareProblem problem{.gpus = {gpus, gpus, gpus}};
  for (std::size_t row = 0; row < rows; ++row) {
    const double gang = static_cast<double>(1u << rng.below(4));
    const double base = std::exp(6 * rng.uniform());
    const double rates[3] = {base, base * (0.3 + 0.6 * rng.uniform()),
                             base * (0.1 + 0.3 * rng.uniform())};
    problem.gang.push_back(gang);
    problem.count.push_back(1);
    problem.rate.insert(problem.rate.end(), rates, rates + 3);
    problem.floor.push_back(0);
    problem.part.push_back((rates[0] + rates[1] + rates[2]) / 3 / gang);
  }
  return problem;
}

TEST(TimeShares, TakeFewTurnsForManyJobs) {
  const ShareProblem problem = many_jobs(2048);
  const auto shares = raise_level(problem);
  ASSERT_TRUE(shares);
  EXPECT_FALSE(shares->by_clp);
  EXPECT_LT(shares->turns, 120);
  expect_fits(problem, *shares, shares->objective);
  EXPECT_NEAR(proven_level(problem, *shares) / shares->objective, 1, 1e-9);
}

}  // namespace
}  // namespace fairlead
