#include "fairlead/policy/hadar/prices.h"

#include <gtest/gtest.h>

namespace fairlead {
namespace {

constexpr GpuTypeId kFast{0};
constexpr GpuTypeId kSlow{1};

class HadarPricesTest : public testing::Test {
 protected:
  void SetUp() override {
    const std::vector<HadarPrices::Range> ranges = {{.idle = 1, .full = 16}, {}};
    const std::vector<std::uint32_t> capacity = {4, 2};
    prices_.set(ranges, capacity);
  }
  HadarPrices prices_;
};

TEST_F(HadarPricesTest, AnIdleTypeCostsTheLeastAndAFullOneTheMost) {
  EXPECT_DOUBLE_EQ(prices_.price(kFast, 4), 1);
  EXPECT_DOUBLE_EQ(prices_.price(kFast, 0), 16);
}

TEST_F(HadarPricesTest, HalfGivenOutCostsTheGeometricMean) {
  EXPECT_DOUBLE_EQ(prices_.price(kFast, 2), 4);
}

TEST_F(HadarPricesTest, EveryGpuGivenOutMakesTheNextDearer) {
  for (std::uint32_t free = 0; free < 4; ++free) {
    EXPECT_GT(prices_.price(kFast, free), prices_.price(kFast, free + 1));
  }
}

TEST_F(HadarPricesTest, ATypeWithoutCompetitionIsFreeOfCharge) {
  EXPECT_EQ(prices_.price(kSlow, 2), 0);
  EXPECT_EQ(prices_.price(kSlow, 0), 0);
}

TEST_F(HadarPricesTest, ATypeWhoseNodesAreAllDownIsFull) {
  const std::vector<HadarPrices::Range> ranges = {{.idle = 1, .full = 16}};
  const std::vector<std::uint32_t> capacity = {0};
  prices_.set(ranges, capacity);
  EXPECT_DOUBLE_EQ(prices_.price(kFast, 0), 16);
}

}  // namespace
}  // namespace fairlead
