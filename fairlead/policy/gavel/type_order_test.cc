#include "fairlead/policy/gavel/type_order.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace fairlead {
namespace {

using Order = std::vector<std::uint32_t>;

// The first job is a hundred times as fast as the second, but each counts by its fastest type.
TEST(TypeOrder, IsBySpeedRelativeToEachJobsFastestType) {
  const std::vector<double> throughputs = {100, 90, 0, 0.1, 0.4, 1};
  EXPECT_EQ(types_by_speed(3, throughputs), (Order{1, 0, 2}));
}

TEST(TypeOrder, LeavesEqualTypesInTheirOrder) {
  EXPECT_EQ(types_by_speed(3, {}), (Order{0, 1, 2}));
  const std::vector<double> nowhere = {0, 0, 0};
  EXPECT_EQ(types_by_speed(3, nowhere), (Order{0, 1, 2}));
}

TEST(TypeOrder, IsDrawnAnewFromEachStream) {
  bool differs = false;
  for (std::uint64_t round = 0; round < 20; ++round) {
    Order order = shuffled_types(4, Rng(1).split(round));
    EXPECT_EQ(order, shuffled_types(4, Rng(1).split(round)));
    differs = differs || order != shuffled_types(4, Rng(1).split(0));
    std::ranges::sort(order);
    EXPECT_EQ(order, (Order{0, 1, 2, 3}));
  }
  EXPECT_TRUE(differs);
}

}  // namespace
}  // namespace fairlead
