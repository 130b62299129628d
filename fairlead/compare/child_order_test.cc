#include "fairlead/compare/child_order.h"

#include <gtest/gtest.h>

namespace fairlead {
namespace {

TEST(ChildOrder, EachKindIsTriedAndThenTheLongestComesFirst) {
  const std::size_t kinds[] = {0, 0, 0, 1, 1, 1};
  ChildOrder order(kinds);
  EXPECT_EQ(order.next(0), 0U);
  EXPECT_EQ(order.next(0), 3U);
  order.ended(0, 2);  // the other runs on, and is longer
  EXPECT_EQ(order.next(2.5), 4U);
  order.ended(3, 8);
  EXPECT_EQ(order.next(8), 5U);
  EXPECT_EQ(order.next(9), 1U);
  EXPECT_EQ(order.next(9), 2U);
  EXPECT_EQ(order.next(9), std::nullopt);
}

TEST(ChildOrder, RunsOfOneKindStartInOrder) {
  const std::size_t kinds[] = {0, 0, 0};
  ChildOrder order(kinds);
  for (std::size_t row = 0; row < 3; ++row) {
    EXPECT_EQ(order.next(static_cast<double>(row)), row);
    order.ended(row, static_cast<double>(row) + 0.5);
  }
}

TEST(ChildOrder, AKindThatEndsAtOnceComesBehindOneThatRuns) {
  const std::size_t kinds[] = {0, 0, 1, 1};
  ChildOrder order(kinds);
  EXPECT_EQ(order.next(0), 0U);
  EXPECT_EQ(order.next(0), 2U);
  order.ended(2, 1);
  EXPECT_EQ(order.next(5), 1U);
  EXPECT_EQ(order.next(5), 3U);
}

}  // namespace
}  // namespace fairlead
