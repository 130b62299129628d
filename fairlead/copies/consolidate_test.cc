#include "fairlead/copies/consolidate.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <vector>

namespace fairlead {
namespace {

using Steps = std::vector<std::uint64_t>;

TEST(Tracker, SplitsStepsBySpeed) {
  const std::vector<double> speeds = {1, 0.8, 0.2};
  EXPECT_EQ(split_steps(100, speeds), (Steps{50, 40, 10}));
  EXPECT_EQ(split_steps(3, speeds), (Steps{2, 1, 0}));  // the slow one would end after 5
  EXPECT_EQ(split_steps(0, speeds), (Steps{0, 0, 0}));
}

RC_GTEST_PROP(Tracker, SplitsAllStepsSoThatTheLastCopyEndsAsEarlyAsCanBe, ()) {
  const auto copies = *rc::gen::inRange<std::size_t>(1, 5);
  std::vector<double> speeds;
  for (std::size_t i = 0; i < copies; ++i) speeds.push_back(0.1 * *rc::gen::inRange(1, 20));
  const auto steps = *rc::gen::inRange<std::uint64_t>(0, 30);
  const auto end = [&](const Steps& split) {
    double last = 0;
    for (std::size_t i = 0; i < copies; ++i)
      last = std::max(last, static_cast<double>(split[i]) / speeds[i]);
    return last;
  };
  const Steps split = split_steps(steps, speeds);
  RC_ASSERT(std::accumulate(split.begin(), split.end(), std::uint64_t{0}) == steps);
  // One by one, each to the copy that would end first, is best for sure.
  Steps best(copies);
  for (std::uint64_t step = 0; step < steps; ++step) {
    std::size_t next = 0;
    for (std::size_t i = 1; i < copies; ++i) {
      const auto with = [&](std::size_t at) {
        return static_cast<double>(best[at] + 1) / speeds[at];
      };
      if (with(i) < with(next)) next = i;
    }
    ++best[next];
  }
  RC_ASSERT(end(split) <= end(best) * (1 + 1e-9));
}

TEST(Tracker, AveragesByStepsMade) {
  const std::array<float, 2> fast = {1, 4};
  const std::array<float, 2> slow = {5, 0};
  const std::array<float, 2> idle = {99, 99};
  const std::array<std::span<const float>, 3> copies = {fast, slow, idle};
  std::array<float, 2> mean{};
  average(copies, Steps{3, 1, 0}, mean);
  EXPECT_EQ(mean, (std::array<float, 2>{2, 3}));
}

TEST(Tracker, WithoutMomentumTheMeanIsTaken) {
  OuterMomentum plain(1, 0);
  std::array<float, 2> parameters = {1, 1};
  plain.step(parameters, std::array<float, 2>{2, 0.5F});
  EXPECT_EQ(parameters, (std::array<float, 2>{2, 0.5F}));
}

TEST(Tracker, MomentumGoesOnInTheDirectionOfEarlierRounds) {
  OuterMomentum outer(1, 0.5);
  std::array<float, 1> parameters = {0};
  outer.step(parameters, std::array<float, 1>{1});  // velocity 1: 1 + 0.5
  EXPECT_FLOAT_EQ(parameters[0], 1.5F);
  outer.step(parameters, std::array<float, 1>{1.5F});  // no change: velocity 0.5
  EXPECT_FLOAT_EQ(parameters[0], 1.75F);
}

}  // namespace
}  // namespace fairlead
