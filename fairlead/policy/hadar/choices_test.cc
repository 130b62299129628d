#include "fairlead/policy/hadar/choices.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace fairlead {
namespace {

std::vector<std::uint32_t> bids_of(const HadarChoices& choices, std::uint32_t last) {
  std::vector<std::uint32_t> bids;
  choices.for_each(last, [&](const HadarChoices::Choice& choice) { bids.push_back(choice.bid); });
  return bids;
}

TEST(HadarChoices, DraftsShareTheChoicesBeforeTheyPart) {
  HadarChoices choices;
  choices.begin();
  const std::uint32_t first = choices.add({.bid = 5});
  const std::uint32_t one = choices.add({.before = first, .bid = 6});
  const std::uint32_t other = choices.add({.before = first, .bid = 7});
  EXPECT_EQ(bids_of(choices, one), (std::vector<std::uint32_t>{6, 5}));
  EXPECT_EQ(bids_of(choices, other), (std::vector<std::uint32_t>{7, 5}));
  EXPECT_TRUE(bids_of(choices, 0).empty());
}

TEST(HadarChoices, AGangKeepsItsSlicesAfterOthersWereAdded) {
  HadarChoices choices;
  choices.begin();
  const std::vector<Slice> slices = {{NodeId(3), 2}, {NodeId(1), 1}};
  HadarGang gang{.slices = 2};
  gang.first = choices.add_slices(slices);
  EXPECT_NE(gang.first, 0U);
  choices.add_slices(std::vector<Slice>(100, {NodeId(0), 1}));
  EXPECT_TRUE(std::ranges::equal(choices.slices(gang), slices));
}

}  // namespace
}  // namespace fairlead
