#include "fairlead/compare/child_order.h"

#include <gtest/gtest.h>

namespace fairlead {
namespace {

TEST(ChildOrder, EachKindIsTriedAndThenTheLongestComesFirst) {
  const std::size_t kinds[] = {0, 0, 0, 1, 1, 1};
  ChildOrder order(kinds);
  EXPECT_EQ(order.next(), 0U);
  EXPECT_EQ(order.next(), 3U);
  order.ended(0, 2);
  order.ended(3, 8);
  EXPECT_EQ(order.next(), 4U);
  EXPECT_EQ(order.next(), 5U);
  EXPECT_EQ(order.next(), 1U);
  EXPECT_EQ(order.next(), 2U);
  EXPECT_EQ(order.next(), std::nullopt);
}

TEST(ChildOrder, AKindOfUnknownLengthComesBeforeAKnownOne) {
  const std::size_t kinds[] = {0, 0, 1, 1, 1};
  ChildOrder order(kinds);
  EXPECT_EQ(order.next(), 0U);
  EXPECT_EQ(order.next(), 2U);
  order.ended(0, 100);
  EXPECT_EQ(order.next(), 3U);
  order.ended(2, 1);
  EXPECT_EQ(order.next(), 1U);
  EXPECT_EQ(order.next(), 4U);
}

TEST(ChildOrder, RunsOfOneKindStartInOrder) {
  const std::size_t kinds[] = {0, 0, 0};
  ChildOrder order(kinds);
  for (std::size_t row = 0; row < 3; ++row) {
    EXPECT_EQ(order.next(), row);
    order.ended(row, 1);
  }
}

}  // namespace
}  // namespace fairlead
