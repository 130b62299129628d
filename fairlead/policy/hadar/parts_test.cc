#include "fairlead/policy/hadar/testing.h"

#include <gtest/gtest.h>

namespace fairlead {
namespace {

TEST(HadarParts, ThePartOfATypeFindsItsTightestNode) {
  HadarStage stage("3xV100:4,1xK80:8");
  const Slice taken[] = {{NodeId(0), 1}, {NodeId(2), 2}};
  stage.free.take(stage.cluster, taken);
  const HadarGangs gangs(stage.cluster, true);
  const HadarPart& fast = *stage.rest(gangs)[0];
  EXPECT_EQ(fast.gpus, 9U);
  EXPECT_EQ(fast.tightest(1), 2U);
  EXPECT_EQ(fast.tightest(3), 0U);
  EXPECT_EQ(fast.tightest(4), 1U);
  EXPECT_EQ(fast.tightest(5), HadarPart::kNone);
  EXPECT_EQ(fast.tightest(kNodeGpusMax + 1), HadarPart::kNone);
}

TEST(HadarParts, ACopyChangesAlone) {
  HadarStage stage("2xV100:4");
  const HadarGangs gangs(stage.cluster, true);
  const HadarPart& part = *stage.rest(gangs)[0];
  HadarPart& copy = stage.parts.copy(part);
  copy.set(0, 1);
  copy.set(1, 0);
  EXPECT_EQ(copy.gpus, 1U);
  EXPECT_EQ(copy.tightest(1), 0U);
  EXPECT_EQ(copy.tightest(2), HadarPart::kNone);
  EXPECT_EQ(part.gpus, 8U);
  EXPECT_EQ(part.tightest(4), 0U);
}

TEST(HadarParts, PartsOfNoDraftAreUsedAgain) {
  HadarStage stage("1xV100:4");
  const HadarGangs gangs(stage.cluster, true);
  HadarPart* const first = stage.rest(gangs)[0];
  HadarPart& kept = stage.parts.copy(*first);
  kept.set(0, 3);
  HadarPart* const left = &stage.parts.copy(*first);
  HadarPart* const draft[] = {&kept};
  stage.parts.collect([&](const auto& visit) { visit(HadarRest(draft)); });
  HadarPart* const again[] = {&stage.parts.copy(kept), &stage.parts.copy(kept)};
  EXPECT_TRUE(again[0] == left || again[1] == left);
  for (HadarPart* part : again) {
    EXPECT_NE(part, &kept);
    EXPECT_EQ(part->gpus, 3U);
  }
}

}  // namespace
}  // namespace fairlead
