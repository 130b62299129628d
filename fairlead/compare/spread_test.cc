#include "fairlead/compare/spread.h"

#include <gtest/gtest.h>

#include <cmath>

namespace fairlead {
namespace {

TEST(Spread, RangeHasTheMeanAndTheEnds) {
  const Range range = range_of({3, 1, 8});
  EXPECT_EQ(range.mean, 4);
  EXPECT_EQ(range.min, 1);
  EXPECT_EQ(range.max, 8);
}

TEST(Spread, IntervalIsThatOfStudentsT) {
  // Mean 3, standard deviation sqrt(2.5), t of 4 degrees of freedom 2.776: 2.776 x 0.70711.
  const MeanInterval five = mean_interval({1, 2, 3, 4, 5});
  EXPECT_TRUE(five.is_interval);
  EXPECT_EQ(five.mean, 3);
  EXPECT_NEAR(five.low, 3 - 1.96293, 1e-4);
  EXPECT_NEAR(five.high, 3 + 1.96293, 1e-4);
  // Mean 2, standard deviation 1, t of 2 degrees of freedom 4.303: 4.303 / sqrt(3).
  EXPECT_NEAR(mean_interval({1, 2, 3}).high, 2 + 2.48434, 1e-4);
}

TEST(Spread, FewerThanThreeSeedsGiveTheirRange) {
  const MeanInterval two = mean_interval({4, -2});
  EXPECT_FALSE(two.is_interval);
  EXPECT_EQ(two.mean, 1);
  EXPECT_EQ(two.low, -2);
  EXPECT_EQ(two.high, 4);
  EXPECT_FALSE(mean_interval({7}).is_interval);
}

TEST(Spread, MoreSeedsWithTheSameSpreadAreSurer) {
  double before = 1e9;
  for (const std::size_t seeds : {4u, 10u, 30u, 40u, 60u, 100u, 200u, 1000u}) {
    std::vector<double> differences;
    for (std::size_t i = 0; i < seeds; ++i) differences.push_back(i % 2 == 0 ? 1 : -1);
    const MeanInterval paired = mean_interval(differences);
    EXPECT_NEAR(paired.mean, 0, 1e-12);
    EXPECT_LT(paired.high, before);
    before = paired.high;
  }
  EXPECT_NEAR(before, 1.98 / std::sqrt(999), 1e-9);
}

TEST(Spread, EqualDifferencesLeaveNoDoubt) {
  const MeanInterval same = mean_interval({2.5, 2.5, 2.5, 2.5});
  EXPECT_EQ(same.low, 2.5);
  EXPECT_EQ(same.high, 2.5);
}

}  // namespace
}  // namespace fairlead
