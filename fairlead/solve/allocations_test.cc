#include "fairlead/solve/allocations.h"

#include "fairlead/solve/testing_shares.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace fairlead {
namespace {

// The worth that a hair of one job's level can have for another job.
constexpr double kMoved = 1e-3;

std::vector<double> progresses(const ShareProblem& problem, const Allocation& allocation) {
  std::vector<double> sums(problem.rows(), 0.0);
  for (std::size_t i = 0; i < problem.rate.size(); ++i) {
    const std::size_t type = i % problem.types();
    if (problem.gpus[type] > 0) sums[i / problem.types()] += problem.rate[i] * allocation.share[i];
  }
  return sums;
}

std::vector<double> levels(const ShareProblem& problem, const Allocation& allocation) {
  std::vector<double> levels = progresses(problem, allocation);
  for (std::size_t row = 0; row < levels.size(); ++row) levels[row] /= problem.part[row];
  return levels;
}

void expect_fits(const ShareProblem& problem, const Allocation& allocation) {
  std::vector<double> left = problem.gpus;
  for (std::size_t row = 0; row < problem.rows(); ++row) {
    double time = 0;
    for (std::size_t type = 0; type < problem.types(); ++type) {
      const double share = allocation.share[row * problem.types() + type];
      EXPECT_TRUE(share == 0 || share >= kShareUnit);
      time += share;
      left[type] -= share * problem.gang[row] * problem.count[row];
    }
    EXPECT_LE(time, 1 + 1e-9);
  }
  for (double gpus : left) EXPECT_GE(gpus, -1e-6);
}

// A problem without floors in which every row can run and has a part of the size of its rates.
ShareProblem any_problem() {
  ShareProblem problem = any_share_problem(10, 3);
  problem.floor.assign(problem.rows(), 0.0);
  problem.gpus[0] = std::max(problem.gpus[0], 1.0);
  for (std::size_t row = 0; row < problem.rows(); ++row) {
    const auto rates = std::span(problem.rate).subspan(row * problem.types(), problem.types());
    if (rates[0] <= 0) rates[0] = std::max(std::ranges::max(rates), 1e-3);
    problem.part[row] = std::ranges::max(rates) * *rc::gen::inRange(1, 8) / 4;
  }
  return problem;
}

ShareProblem one_type(double gpus, std::vector<double> gang) {
  const std::vector<double> ones(gang.size(), 1.0);
  return {.gpus = {gpus},
          .gang = gang,
          .count = ones,
          .rate = ones,
          .floor = std::vector(gang.size(), 0.0),
          .part = ones};
}

TEST(MaxMin, DividesOneTypeEqually) {
  const auto allocation = max_min(one_type(1, {1, 1, 1, 1}));
  ASSERT_TRUE(allocation);
  EXPECT_NEAR(allocation->objective, 0.25, 1e-12);
  EXPECT_EQ(allocation->share, std::vector(4, 0.25));
}

TEST(MaxMin, GivesWhatIsLeftToWhoGainsMost) {
  // The first job stops at half of its part. At that level the gangs use 2.5 of 3 GPUs; of the rest
  // the single GPU makes more progress than the gang of 2.
  ShareProblem problem = one_type(3, {1, 1, 2});
  problem.part = {2, 1, 1};
  const auto allocation = max_min(problem);
  ASSERT_TRUE(allocation);
  EXPECT_NEAR(allocation->objective, 0.5, 1e-12);
  EXPECT_NEAR(allocation->share[0], 1, 1e-8);
  EXPECT_NEAR(allocation->share[1], 1, 1e-8);
  EXPECT_NEAR(allocation->share[2], 0.5, 1e-8);
}

TEST(MaxMin, LeavesWhatIsLeftWhereTiesAreNotBroken) {
  ShareProblem problem = one_type(3, {1, 1, 2});
  problem.part = {2, 1, 1};
  const auto allocation = max_min(problem, Ties::kNone);
  ASSERT_TRUE(allocation);
  EXPECT_NEAR(allocation->objective, 0.5, 1e-12);
  EXPECT_NEAR(allocation->share[0], 1, 1e-8);
  EXPECT_NEAR(allocation->share[1], 0.5, 1e-8);
  EXPECT_NEAR(allocation->share[2], 0.5, 1e-8);
}

TEST(MaxMin, ReachesTheLevelOfThePlainProgramAndFits) {
  EXPECT_TRUE(rc::check([] {
    const ShareProblem problem = any_problem();
    const auto plain = solve_plainly(problem);
    const auto ours = max_min(problem);
    RC_ASSERT(plain && ours);
    RC_ASSERT(std::abs(ours->objective - plain->objective) <= 1e-8 * (1 + plain->objective));
    expect_fits(problem, *ours);
    for (double level : levels(problem, *ours)) RC_ASSERT(level >= ours->objective - 1e-7);
  }));
}

// Returns the rows in another order, by `order`.
ShareProblem permuted(const ShareProblem& problem, const std::vector<std::size_t>& order) {
  ShareProblem to{.gpus = problem.gpus};
  for (std::size_t row : order) {
    to.gang.push_back(problem.gang[row]);
    to.count.push_back(problem.count[row]);
    to.floor.push_back(problem.floor[row]);
    to.part.push_back(problem.part[row]);
    for (std::size_t type = 0; type < problem.types(); ++type) {
      to.rate.push_back(problem.rate[row * problem.types() + type]);
    }
  }
  return to;
}

TEST(Allocations, FollowAPermutationOfTheRowsBitByBit) {
  EXPECT_TRUE(rc::check([] {
    const ShareProblem problem = any_problem();
    std::vector<std::size_t> order(problem.rows());
    std::iota(order.begin(), order.end(), std::size_t{0});
    const auto by = *rc::gen::inRange<std::size_t>(0, problem.rows());
    std::rotate(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(by), order.end());
    if (*rc::gen::arbitrary<bool>()) std::ranges::reverse(order);
    const ShareProblem other = permuted(problem, order);
    const std::vector<double> ones(problem.rows(), 1.0);
    const FinishTimes times{ones, ones, ones};
    const auto expect_same = [&](const Result<Allocation>& a, const Result<Allocation>& b) {
      if (!a) RC_FAIL(a.error().message);
      RC_ASSERT(b.has_value());
      RC_ASSERT(a->objective == b->objective);
      for (std::size_t i = 0; i < b->share.size(); ++i) {
        const std::size_t row = order[i / problem.types()];
        RC_ASSERT(b->share[i] == a->share[row * problem.types() + i % problem.types()]);
      }
    };
    expect_same(max_min(problem), max_min(other));
    expect_same(water_fill(problem), water_fill(other));
    expect_same(max_total(problem, problem.rate), max_total(other, other.rate));
    expect_same(finish_time_fairness(problem, times), finish_time_fairness(other, times));
  }));
}

TEST(Allocations, DoNotDependOnTheScaleOfAJob) {
  EXPECT_TRUE(rc::check([] {
    const ShareProblem problem = any_problem();
    ShareProblem scaled = problem;
    const auto row = *rc::gen::inRange<std::size_t>(0, problem.rows());
    const double factor = std::ldexp(1, *rc::gen::inRange(-20, 20));
    scaled.part[row] *= factor;
    for (std::size_t type = 0; type < problem.types(); ++type) {
      scaled.rate[row * problem.types() + type] *= factor;
    }
    const auto one = max_min(problem);
    const auto other = max_min(scaled);
    RC_ASSERT(one && other);
    RC_ASSERT(one->share == other->share);
    const auto filled = water_fill(problem);
    const auto other_filled = water_fill(scaled);
    RC_ASSERT(filled && other_filled);
    RC_ASSERT(filled->share == other_filled->share);
  }));
}

TEST(Allocations, GiveEqualJobsEqualShares) {
  EXPECT_TRUE(rc::check([] {
    ShareProblem problem = any_problem();
    std::vector<std::size_t> order(problem.rows());
    std::iota(order.begin(), order.end(), std::size_t{0});
    order.push_back(0);
    problem = permuted(problem, order);
    for (const auto& allocation :
         {max_min(problem), water_fill(problem), max_total(problem, problem.rate),
          least_makespan(problem, problem.part)}) {
      RC_ASSERT(allocation.has_value());
      for (std::size_t type = 0; type < problem.types(); ++type) {
        const std::size_t last = (problem.rows() - 1) * problem.types() + type;
        RC_ASSERT(allocation->share[type] == allocation->share[last]);
      }
    }
  }));
}

TEST(WaterFill, RaisesTheOthersWhenOneIsFull) {
  // The first job's part is twice its speed, so the level stops at 0.5 for it, when it has its GPU.
  // The other two go on and share the rest of 2.5.
  ShareProblem problem = one_type(2.5, {1, 1, 1});
  problem.part = {2, 1, 1};
  const auto allocation = water_fill(problem);
  ASSERT_TRUE(allocation);
  EXPECT_NEAR(allocation->objective, 0.5, 1e-12);
  EXPECT_NEAR(allocation->share[0], 1, 1e-8);
  EXPECT_NEAR(allocation->share[1], 0.75, 1e-8);
  EXPECT_NEAR(allocation->share[2], 0.75, 1e-8);
}

TEST(WaterFill, GivesAllRowsFullTimeWhereThereIsRoom) {
  const auto allocation = water_fill(one_type(8, {1, 2, 4}));
  ASSERT_TRUE(allocation);
  EXPECT_EQ(allocation->share, std::vector(3, 1.0));
}

TEST(WaterFill, LeavesNothingToWhoCannotRunBesideTheFloors) {
  // The floor of the first job takes the only GPU: the level of the other is 0.
  ShareProblem problem = one_type(1, {1, 1});
  problem.floor = {1, 0};
  problem.part = {0, 1};
  const auto allocation = water_fill(problem);
  ASSERT_TRUE(allocation);
  EXPECT_NEAR(allocation->objective, 0, 1e-9);
  EXPECT_NEAR(allocation->share[0], 1, 1e-8);
  EXPECT_NEAR(allocation->share[1], 0, 1e-8);
}

TEST(WaterFill, RaisesNoRowFurtherWithoutLoweringOneThatHasNoMore) {
  EXPECT_TRUE(rc::check([] {
    ShareProblem problem = any_problem();
    const auto filled = water_fill(problem);
    RC_ASSERT(filled.has_value());
    expect_fits(problem, *filled);
    const std::vector<double> level = levels(problem, *filled);
    const auto row = *rc::gen::inRange<std::size_t>(0, problem.rows());
    std::vector<double> value(problem.rate.size(), 0.0);
    for (std::size_t i = row * problem.types(); i < (row + 1) * problem.types(); ++i) {
      value[i] = problem.rate[i] / problem.part[row] / problem.count[row];
    }
    for (std::size_t i = 0; i < problem.rows(); ++i) {
      problem.floor[i] = problem.part[i] * std::min(level[i], level[row]) * (1 - 1e-8);
    }
    const auto alone = solve_plainly(problem, value);
    RC_ASSERT(alone.has_value());
    RC_ASSERT(alone->objective <= level[row] * (1 + kMoved) + kMoved);
  }));
}

TEST(WaterFill, IsAtLeastAsHighAsMaxMinInOrderOfLevels) {
  EXPECT_TRUE(rc::check([] {
    const ShareProblem problem = any_problem();
    const auto filled = water_fill(problem);
    const auto raised = max_min(problem);
    RC_ASSERT(filled && raised);
    std::vector<double> high = levels(problem, *filled);
    std::vector<double> low = levels(problem, *raised);
    std::ranges::sort(high);
    std::ranges::sort(low);
    for (std::size_t i = 0; i < high.size(); ++i) {
      RC_ASSERT(high[i] >= low[i] - kMoved * (1 + low[i]));
      if (high[i] > low[i] + 1e-6) return;
    }
  }));
}

TEST(MaxTotal, GivesTimeToWhoMakesMostOfIt) {
  ShareProblem problem = one_type(3, {1, 2, 1});
  problem.rate = {2, 3, 5};
  const auto allocation = max_total(problem, problem.rate);
  ASSERT_TRUE(allocation);
  EXPECT_NEAR(allocation->objective, 8.5, 1e-12);
  EXPECT_EQ(allocation->share, (std::vector<double>{1, 0.5, 1}));
}

TEST(LeastMakespan, IsTheLastFinishUnderTheBestDivision) {
  // Work of 30 and 10 on one GPU: everything is done after 40.
  const auto allocation = least_makespan(one_type(1, {1, 1}), std::vector{30.0, 10.0});
  ASSERT_TRUE(allocation);
  EXPECT_NEAR(allocation->objective, 40, 1e-9);
  EXPECT_NEAR(allocation->share[0], 0.75, 1e-8);
  EXPECT_NEAR(allocation->share[1], 0.25, 1e-8);
  EXPECT_EQ(least_makespan(one_type(1, {1}), std::vector{0.0})->objective, 0);
  EXPECT_FALSE(least_makespan(one_type(0, {1}), std::vector{1.0}));
}

TEST(FinishTimeFairness, HelpsWhoHasWaited) {
  // Both have 100 s of work and would take 200 s with half a GPU each, but the first has waited for
  // 50 s. Their times relative to isolation become equal.
  const ShareProblem problem = one_type(1, {1, 1});
  const auto allocation = finish_time_fairness(problem, {{100, 100}, {50, 0}, {200, 200}});
  ASSERT_TRUE(allocation);
  const double first = (50 + 100 / allocation->share[0]) / 200;
  const double second = (100 / allocation->share[1]) / 200;
  EXPECT_NEAR(first, second, 1e-6);
  EXPECT_NEAR(first, allocation->objective, 1e-6);
  EXPECT_NEAR(allocation->share[0] + allocation->share[1], 1, 1e-8);
}

TEST(FinishTimeFairness, SaysWhichJobCannotRun) {
  const auto allocation = finish_time_fairness(one_type(0, {1}), {{100}, {50}, {200}});
  ASSERT_FALSE(allocation);
  EXPECT_EQ(allocation.error().message,
            "row 0 of 1 rows of jobs has work left but no GPU type to run on");
}

TEST(FinishTimeFairness, HasTheLeastRhoThatAPlainProgramCanMeet) {
  EXPECT_TRUE(rc::check([] {
    const ShareProblem problem = any_problem();
    FinishTimes times;
    for (std::size_t row = 0; row < problem.rows(); ++row) {
      times.remaining.push_back(*rc::gen::inRange(0, 100) * problem.part[row]);
      times.age_s.push_back(*rc::gen::inRange(0, 100));
      times.isolated_s.push_back(*rc::gen::inRange(1, 300));
    }
    const auto ours = finish_time_fairness(problem, times);
    RC_ASSERT(ours.has_value());
    expect_fits(problem, *ours);
    const auto can_meet = [&](double rho) {
      ShareProblem at = problem;
      for (std::size_t row = 0; row < problem.rows(); ++row) {
        const double time_s = rho * times.isolated_s[row] - times.age_s[row];
        if (times.remaining[row] > 0 && time_s <= 0) return false;
        at.part[row] = times.remaining[row] > 0 ? times.remaining[row] / time_s : 0;
      }
      const auto plain = solve_plainly(at);
      return !plain || plain->objective >= 1;  // unbounded where nothing remains
    };
    RC_ASSERT(can_meet(ours->objective * (1 + 1e-7)));
    const bool is_any_left =
        std::ranges::any_of(times.remaining, [](double steps) { return steps > 0; });
    RC_ASSERT(!is_any_left || !can_meet(ours->objective * (1 - 1e-7)));
    const auto progress = progresses(problem, *ours);
    for (std::size_t row = 0; row < problem.rows(); ++row) {
      if (times.remaining[row] <= 0) continue;
      const double time_s = ours->objective * (1 + 1e-6) * times.isolated_s[row] - times.age_s[row];
      // Shares are rounded down by up to a unit.
      const double missed =
          static_cast<double>(problem.types()) * kShareUnit * problem.part[row] * 4;
      RC_ASSERT((progress[row] + missed) * time_s >= times.remaining[row]);
    }
  }));
}

}  // namespace
}  // namespace fairlead
