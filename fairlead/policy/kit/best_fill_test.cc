#include "fairlead/policy/kit/best_fill.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <vector>

namespace fairlead {
namespace {

using Items = std::vector<BestFill::Item>;

std::vector<std::size_t> chosen(const Items& items, std::uint32_t room) {
  BestFill best;
  best.fill(items, room);
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (best.chosen()[i] != 0) found.push_back(i);
  }
  return found;
}

TEST(BestFill, TakesManySmallItemsOrOneLargeWhicheverWeighsMore) {
  EXPECT_EQ(chosen({{4, 8}, {1, 3}, {1, 3}, {1, 1}}, 4), (std::vector<std::size_t>{0}));
  EXPECT_EQ(chosen({{4, 6}, {1, 3}, {1, 3}, {1, 1}}, 4), (std::vector<std::size_t>{1, 2, 3}));
}

TEST(BestFill, TakesTheEarlierOfEquals) {
  EXPECT_EQ(chosen({{2, 1}, {2, 1}, {2, 1}}, 4), (std::vector<std::size_t>{0, 1}));
}

TEST(BestFill, TakesNothingWhereNothingFits) {
  EXPECT_TRUE(chosen({{4, 1}}, 3).empty());
  EXPECT_TRUE(chosen({{1, 1}}, 0).empty());
  EXPECT_TRUE(chosen({}, 8).empty());
}

RC_GTEST_PROP(BestFill, WeighsAsMuchAsTheBestOfAllSetsThatFit, ()) {
  const auto count = *rc::gen::inRange(0, 9);
  const auto room = *rc::gen::inRange(0U, 12U);
  Items items;
  items.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) {
    items.push_back({*rc::gen::inRange(1U, 9U), 1.0 * *rc::gen::inRange(1, 20)});
  }
  double most = 0;
  for (unsigned set = 0; set < 1U << items.size(); ++set) {
    std::uint32_t size = 0;
    double weight = 0;
    for (std::size_t i = 0; i < items.size(); ++i) {
      if ((set >> i & 1U) == 0) continue;
      size += items[i].size;
      weight += items[i].weight;
    }
    if (size <= room) most = std::max(most, weight);
  }
  BestFill best;
  best.fill(items, room);
  RC_ASSERT(best.worth(room) == most);
  std::uint32_t size = 0;
  double weight = 0;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (best.chosen()[i] == 0) continue;
    size += items[i].size;
    weight += items[i].weight;
  }
  RC_ASSERT(size <= room);
  RC_ASSERT(weight == most);
}

}  // namespace
}  // namespace fairlead
