#include "fairlead/report/time_grid.h"

#include <gtest/gtest.h>

#include <numeric>

namespace fairlead {
namespace {

TEST(TimeGrid, IsAsFineAsItMayBe) {
  EXPECT_EQ(TimeGrid({0}, {512'000}).width(), seconds(1));
  EXPECT_EQ(TimeGrid({0}, {512'000}).bins(), 512U);
  EXPECT_EQ(TimeGrid({0}, {512'001}).width(), seconds(2));
  EXPECT_EQ(TimeGrid({0}, {512'001}).bins(), 257U);
  EXPECT_EQ(TimeGrid({5}, {5}).bins(), 0U);
}

TEST(TimeGrid, SpreadsAnAmountOverTheBinsItFallsInto) {
  const TimeGrid grid({1000}, {4500});
  std::vector<double> amounts(grid.bins());
  grid.spread(amounts, {500}, {3500}, 30);  // 5 of it before the origin
  EXPECT_EQ(amounts, (std::vector<double>{10, 10, 5, 0}));
  grid.spread(amounts, {4000}, {5000}, 4);  // 2 of it after the end
  EXPECT_EQ(amounts, (std::vector<double>{10, 10, 5, 2}));
}

TEST(TimeGrid, TheLastBinIsAMeanUpToTheEnd) {
  const TimeGrid grid({0}, {1500});
  std::vector<double> amounts = {3000, 1500};
  grid.divide_by_time(amounts);
  EXPECT_EQ(amounts, (std::vector<double>{3, 3}));
}

TEST(DoublingBins, LoseNothingWhileTheyDouble) {
  DoublingBins bins;
  bins.begin({500});
  for (std::int64_t t = 500; t < 5'000'000; t += 7000) bins.add({t}, {t + 7000}, t % 3);
  const TimeGrid grid({500}, {5'005'500}, 100);
  std::vector<double> amounts(grid.bins());
  bins.spread_to(grid, amounts);
  std::vector<double> plain(grid.bins());
  double sum = 0;
  for (std::int64_t t = 500; t < 5'000'000; t += 7000) {
    const double integral = 7000.0 * static_cast<double>(t % 3);
    grid.spread(plain, {t}, {t + 7000}, integral);
    sum += integral;
  }
  EXPECT_NEAR(std::accumulate(amounts.begin(), amounts.end(), 0.0), sum, 1e-3);
  for (std::size_t i = 0; i < plain.size(); ++i) EXPECT_NEAR(amounts[i], plain[i], 1e-3) << i;
}

}  // namespace
}  // namespace fairlead
