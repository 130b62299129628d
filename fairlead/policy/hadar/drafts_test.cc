#include "fairlead/policy/hadar/drafts.h"

#include <gtest/gtest.h>

#include <utility>

namespace fairlead {
namespace {

TEST(HadarDrafts, TheNextStepLeavesTheDraftsOfThisOneAsTheyAre) {
  HadarPart fast;
  HadarPart slow;
  HadarPart rest;
  HadarDrafts drafts(2, 2);
  HadarDraft& first = drafts.begin();
  first.parts[0] = &fast;
  first.parts[1] = &slow;
  first.worth = 1;
  drafts.copy(first, drafts.next(1));
  drafts.next(1).parts[1] = &rest;
  drafts.next(1).worth = 3;
  EXPECT_EQ(drafts.rest(first)[1], &slow);
  std::swap(drafts.next(0), drafts[0]);
  drafts.advance(2);
  ASSERT_EQ(drafts.all().size(), 2U);
  EXPECT_EQ(drafts[0].worth, 1);
  EXPECT_EQ(drafts.rest(drafts[0])[1], &slow);
  EXPECT_EQ(drafts[1].worth, 3);
  EXPECT_EQ(drafts.rest(drafts[1])[0], &fast);
  EXPECT_EQ(drafts.rest(drafts[1])[1], &rest);
  drafts.keep(1);
  EXPECT_EQ(drafts.size(), 1U);
}

}  // namespace
}  // namespace fairlead
