#include "fairlead/policy/gandiva_fair/tiling.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <vector>

namespace fairlead {
namespace {

using Needs = std::vector<Need>;

// --- An oracle --------------------------------------------------------------------------------

// Returns every largest set of jobs that can run at once, one bit per job.
std::vector<unsigned> sets_at_once(const Needs& needs, std::uint32_t gpus) {
  std::vector<unsigned> sets;
  for (unsigned set = 1; set < (1U << needs.size()); ++set) {
    std::uint32_t sum = 0;
    for (std::size_t job = 0; job < needs.size(); ++job) {
      if ((set >> job & 1) != 0) sum += std::min(needs[job].gpus, gpus);
    }
    if (sum > gpus) continue;
    std::erase_if(sets, [&](unsigned other) { return (other & set) == other; });
    sets.push_back(set);
  }
  return sets;
}

// Returns the part of the time that the node really needs, by linear programming: sets of jobs that
// fit beside each other take turns. The simplex method solves the dual, because it may start from
// values of 0: the largest sum of time x value over the jobs with no set worth more than 1.
double true_time(const Needs& needs, std::uint32_t gpus) {
  constexpr double kZero = 1e-9;
  const std::vector<unsigned> sets = sets_at_once(needs, gpus);
  const std::size_t columns = needs.size() + sets.size();  // jobs, then slack
  std::vector<std::vector<double>> rows(sets.size() + 1, std::vector<double>(columns + 1));
  for (std::size_t set = 0; set < sets.size(); ++set) {
    for (std::size_t job = 0; job < needs.size(); ++job) {
      rows[set][job] = (sets[set] >> job & 1) != 0 ? 1 : 0;
    }
    rows[set][needs.size() + set] = rows[set][columns] = 1;
  }
  std::vector<double>& objective = rows.back();
  for (std::size_t job = 0; job < needs.size(); ++job) objective[job] = -needs[job].time;
  for (;;) {
    std::size_t enters = 0;  // the first column that gains: Bland's rule ends
    while (enters < columns && objective[enters] > -kZero) ++enters;
    if (enters == columns) return objective[columns];
    std::size_t leaves = sets.size();
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t row = 0; row < sets.size(); ++row) {
      if (rows[row][enters] < kZero || rows[row][columns] / rows[row][enters] >= least) continue;
      least = rows[row][columns] / rows[row][enters];
      leaves = row;
    }
    const double pivot = rows[leaves][enters];
    for (double& cell : rows[leaves]) cell /= pivot;
    for (std::size_t row = 0; row < rows.size(); ++row) {
      const double factor = row == leaves ? 0 : rows[row][enters];
      for (std::size_t column = 0; column <= columns; ++column) {
        rows[row][column] -= factor * rows[leaves][column];
      }
    }
  }
}

TEST(TrueTime, IsTheLengthOfTheBestTurns) {
  EXPECT_NEAR(true_time({{4, 0.5}, {1, 1}}, 4), 1.5, 1e-9);
  EXPECT_NEAR(true_time({{3, 1}, {2, 1}, {2, 1}}, 4), 2, 1e-9);
  // Three jobs, two at a time.
  EXPECT_NEAR(true_time({{2, 1}, {2, 1}, {2, 1}}, 4), 1.5, 1e-9);
}

// --- By hand ----------------------------------------------------------------------------------

TEST(TimeNeeded, IsTheAreaWhereGangsNestAndTakeTurns) {
  EXPECT_DOUBLE_EQ(time_needed(Needs{{1, 0.5}, {1, 0.5}, {1, 0.5}, {1, 0.5}}, 2), 1);
  EXPECT_DOUBLE_EQ(time_needed(Needs{{4, 0.25}, {2, 0.5}, {2, 0.5}, {1, 0.5}, {1, 0.5}}, 4), 1);
  EXPECT_DOUBLE_EQ(time_needed(Needs{{8, 0.25}, {8, 0.25}}, 8), 0.5);
}

TEST(TimeNeeded, IsNeverLessThanThatOfOneJob) {
  EXPECT_DOUBLE_EQ(time_needed(Needs{{1, 0.75}}, 8), 0.75);
  EXPECT_DOUBLE_EQ(time_needed(Needs{{3, 0.75}}, 7), 0.75);
  EXPECT_DOUBLE_EQ(time_needed({}, 8), 0);
}

TEST(TimeNeeded, AddsAGangOfTheServerToTheLongestBesideIt) {
  // Fits by area (3 of 4 GPUs), and yet the single GPU is due while the gang has its turn.
  const Needs needs = {{4, 0.5}, {1, 1}};
  EXPECT_DOUBLE_EQ(time_needed(needs, 4), 1.5);
  // By time: 3 GPUs less a third. By gang: the single one loses half of its time.
  EXPECT_DOUBLE_EQ(unserved(needs, 4), (1 + 0.5) / 2);
}

TEST(TimeNeeded, LetsTwoGangsOfTheServerTakeTurns) {
  EXPECT_DOUBLE_EQ(time_needed(Needs{{8, 0.5}, {8, 0.5}}, 8), 1);
  EXPECT_DOUBLE_EQ(unserved(Needs{{8, 0.5}, {8, 0.5}}, 8), 0);
  // A third one as long: 4 of 12 GPUs are missing, by time, by area and by gang.
  const Needs three = {{8, 0.5}, {8, 0.5}, {8, 0.5}};
  EXPECT_DOUBLE_EQ(time_needed(three, 8), 1.5);
  EXPECT_DOUBLE_EQ(unserved(three, 8), 4);
}

TEST(TimeNeeded, SeesThatFiveSinglesLeaveNoRoomForFour) {
  const Needs needs = {{1, 1}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, {4, 1}};
  EXPECT_GT(time_needed(needs, 8), 1);
  EXPECT_GT(unserved(needs, 8), 0);
  // Four leave it.
  EXPECT_DOUBLE_EQ(time_needed(Needs(needs.begin() + 1, needs.end()), 8), 1);
  EXPECT_DOUBLE_EQ(unserved(Needs(needs.begin() + 1, needs.end()), 8), 0);
}

TEST(TimeNeeded, CountsAGangThatIsTooLargeAsTheWholeServer) {
  EXPECT_DOUBLE_EQ(time_needed(Needs{{16, 0.5}, {1, 0.75}}, 8), 1.25);
  EXPECT_DOUBLE_EQ(time_needed(Needs{{12, 0.5}, {1, 0.75}}, 8), 1.25);
  EXPECT_DOUBLE_EQ(unserved(Needs{{64, 1}, {64, 1}}, 8), unserved(Needs{{8, 1}, {8, 1}}, 8));
}

TEST(TimeNeeded, MakesGangsOfOtherSizesTakeTurnsWhereTheyDoNotFit) {
  EXPECT_DOUBLE_EQ(time_needed(Needs{{3, 0.5}, {2, 0.5}}, 4), 1);
  EXPECT_DOUBLE_EQ(time_needed(Needs{{3, 1}, {2, 1}}, 4), 2);
  EXPECT_DOUBLE_EQ(time_needed(Needs{{3, 1}, {1, 1}}, 4), 1);
  EXPECT_DOUBLE_EQ(time_needed(Needs{{3, 1}, {3, 1}}, 6), 1);
  // Two of them at once, three in all.
  EXPECT_DOUBLE_EQ(time_needed(Needs{{3, 0.5}, {3, 0.5}, {3, 0.5}}, 6), 0.75);
}

TEST(Unserved, IsWhatGoesBeyondTheServer) {
  // By time, by area and by gang alike, because the gangs leave no other choice.
  EXPECT_DOUBLE_EQ(unserved(Needs(5, Need{4, 0.25}), 4), 1);
  EXPECT_DOUBLE_EQ(unserved(Needs(4, Need{3, 0.5}), 3), 3);
}

// --- In general -------------------------------------------------------------------------------

struct Drawn {
  Needs needs;
  std::uint32_t gpus;
};

// Few jobs, or the oracle takes long; many are due all of the time, where tiling is hard.
Drawn drawn_needs() {
  Drawn drawn;
  const bool nests = *rc::gen::arbitrary<bool>();  // all sizes are powers of two
  const auto size = [&](int most) {
    const auto n = *rc::gen::inRange<std::uint32_t>(0, static_cast<std::uint32_t>(most));
    return nests ? std::uint32_t{1} << n / 3 : n + 1;
  };
  drawn.gpus = size(12);
  const auto jobs = *rc::gen::inRange<std::size_t>(0, 7);
  for (std::size_t job = 0; job < jobs; ++job) {
    const double time = *rc::gen::element(0.0, 0.1, 0.2, 0.25, 0.3, 0.5, 0.5, 0.75, 1.0, 1.0, 1.0);
    drawn.needs.push_back({size(12), time});
  }
  return drawn;
}

double area(const Drawn& drawn) {
  return std::accumulate(drawn.needs.begin(), drawn.needs.end(), 0.0, [&](double sum, Need need) {
    return sum + std::min(need.gpus, drawn.gpus) * need.time;
  });
}

constexpr double kRounding = 1e-9;

RC_GTEST_PROP(TimeNeeded, IsAtLeastTheAreaAndTheLongest, ()) {
  const Drawn drawn = drawn_needs();
  const double time = time_needed(drawn.needs, drawn.gpus);
  RC_ASSERT(time >= area(drawn) / drawn.gpus - kRounding);
  for (Need need : drawn.needs) RC_ASSERT(time >= need.time - kRounding);
}

RC_GTEST_PROP(TimeNeeded, IsALowerBound, ()) {
  const Drawn drawn = drawn_needs();
  RC_ASSERT(time_needed(drawn.needs, drawn.gpus) <= true_time(drawn.needs, drawn.gpus) + kRounding);
}

RC_GTEST_PROP(TimeNeeded, DoesNotDependOnTheOrder, ()) {
  const Drawn drawn = drawn_needs();
  Needs reversed = drawn.needs;
  std::ranges::reverse(reversed);
  RC_ASSERT(std::abs(time_needed(drawn.needs, drawn.gpus) - time_needed(reversed, drawn.gpus)) <=
            kRounding);
}

RC_GTEST_PROP(Unserved, IsNeverNegativeNorMoreThanIsDue, ()) {
  const Drawn drawn = drawn_needs();
  const double missing = unserved(drawn.needs, drawn.gpus);
  RC_ASSERT(missing >= 0);
  RC_ASSERT(missing <= area(drawn) + kRounding);
}

RC_GTEST_PROP(Unserved, IsNothingWhereAllFitAtOnce, ()) {
  Drawn drawn = drawn_needs();
  std::uint32_t sum = 0;
  std::erase_if(drawn.needs, [&](Need need) {
    if (sum + need.gpus > drawn.gpus) return true;
    sum += need.gpus;
    return false;
  });
  RC_ASSERT(unserved(drawn.needs, drawn.gpus) == 0);
}

RC_GTEST_PROP(Unserved, IsNothingWhereAllCanBeServed, ()) {
  const Drawn drawn = drawn_needs();
  if (true_time(drawn.needs, drawn.gpus) > 1 + kRounding) return;
  RC_ASSERT(unserved(drawn.needs, drawn.gpus) <= kRounding);
}

RC_GTEST_PROP(Tiling, AnswersWhatIfAndStaysAsItWas, ()) {
  const Drawn drawn = drawn_needs();
  if (drawn.needs.empty()) return;
  Tiling tiling(drawn.gpus);
  for (std::size_t i = 0; i + 1 < drawn.needs.size(); ++i) tiling.add(drawn.needs[i]);
  const double before = tiling.unserved();
  RC_ASSERT(tiling.unserved_with(drawn.needs.back()) == unserved(drawn.needs, drawn.gpus));
  RC_ASSERT(tiling.unserved() == before);
  RC_ASSERT(tiling.least_unserved_with(drawn.needs.back()) <= unserved(drawn.needs, drawn.gpus));
  RC_ASSERT(tiling.unserved_with(drawn.needs.back()) == unserved(drawn.needs, drawn.gpus));
}

}  // namespace
}  // namespace fairlead
