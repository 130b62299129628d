#include "fairlead/base/key_order.h"

#include "fairlead/base/rng.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

namespace fairlead {
namespace {

std::vector<std::uint32_t> rows(std::span<const KeyOrder::Row> order) {
  std::vector<std::uint32_t> rows;
  for (const KeyOrder::Row& row : order) rows.push_back(row.row);
  return rows;
}

// The plain version: a stable sort of row numbers.
TEST(KeyOrder, IsThatOfAStableSortForAnyNumberOfRows) {
  KeyOrder order;
  for (const std::size_t count : {0U, 1U, 2U, 1000U, 1024U, 5000U}) {
    for (const double kinds : {1.0, 50.0, 1e12}) {
      Rng rng(count);
      std::vector<double> values(count);
      for (double& value : values) value = std::floor(kinds * (2 * rng.uniform() - 1)) / 7;
      std::vector<std::uint32_t> expected(count);
      std::iota(expected.begin(), expected.end(), 0);
      std::ranges::stable_sort(expected, std::greater(),
                               [&](std::uint32_t i) { return values[i]; });
      order.clear();
      for (double value : values) order.add(falling_key(value));
      EXPECT_EQ(rows(order.rising()), expected) << count << " rows, " << kinds;
    }
  }
}

TEST(KeyOrder, ComesInPartsAsWell) {
  Rng rng(1);
  KeyOrder order;
  for (int i = 0; i < 5000; ++i) order.add(rng.below(1000));
  KeyOrder parts = order;
  std::vector<std::uint32_t> joined;
  for (const std::size_t count : {2000U, 1U, 1500U, 1500U, 1U}) {
    const auto part = rows(parts.next(count));
    joined.insert(joined.end(), part.begin(), part.end());
  }
  EXPECT_EQ(joined, rows(order.rising()));
}

TEST(KeyOrder, OfEqualKeysIsTheOneAskedFor) {
  KeyOrder order;
  for (const std::size_t count : {4U, 2000U}) {
    order.clear();
    for (std::size_t i = 0; i < count; ++i) order.add(i % 2);
    const auto found = rows(order.rising([](std::uint32_t a, std::uint32_t b) { return a > b; }));
    std::vector<std::uint32_t> expected;
    for (std::size_t i = count; i > 0; i -= 2)
      expected.push_back(static_cast<std::uint32_t>(i - 2));
    for (std::size_t i = count; i > 0; i -= 2)
      expected.push_back(static_cast<std::uint32_t>(i - 1));
    EXPECT_EQ(found, expected) << count;
  }
}

TEST(KeyOrder, KeysRiseWithNegativeValuesToo) {
  const double values[] = {-1e300, -2, -1e-300, 0, 1e-300, 1, 1e300};
  for (std::size_t i = 1; i < std::size(values); ++i) {
    EXPECT_LT(rising_key(values[i - 1]), rising_key(values[i])) << values[i];
    EXPECT_GT(falling_key(values[i - 1]), falling_key(values[i])) << values[i];
  }
}

}  // namespace
}  // namespace fairlead
