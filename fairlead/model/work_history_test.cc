#include "fairlead/model/work_history.h"

#include <gtest/gtest.h>

namespace fairlead {
namespace {

constexpr UserId kAnn{0};
constexpr UserId kBob{1};
constexpr ModelId kSmall{0};
constexpr ModelId kLarge{1};

TEST(WorkHistory, KnowsNothingBeforeAJobHasFinished) {
  EXPECT_EQ(WorkHistory().mean(kAnn, kSmall), Duration{});
}

TEST(WorkHistory, TakesTheJobsOfTheUserAndTheModel) {
  WorkHistory history;
  history.add(kAnn, kSmall, seconds(10));
  history.add(kAnn, kSmall, seconds(30));
  history.add(kAnn, kLarge, seconds(1000));
  history.add(kBob, kSmall, seconds(500));
  EXPECT_EQ(history.mean(kAnn, kSmall), seconds(20));
}

TEST(WorkHistory, FallsBackToTheUserThenTheModelThenAll) {
  WorkHistory history;
  history.add(kAnn, kLarge, seconds(10));
  EXPECT_EQ(history.mean(kBob, kSmall), seconds(10));
  history.add(kAnn, kSmall, seconds(90));
  EXPECT_EQ(history.mean(kBob, kSmall), seconds(90));
  history.add(kBob, kLarge, seconds(500));
  EXPECT_EQ(history.mean(kBob, kSmall), seconds(500));
}

TEST(WorkHistory, JobsWithoutAModelAreOfOneKind) {
  WorkHistory history;
  history.add(kAnn, ModelId::none(), seconds(10));
  history.add(kAnn, kSmall, seconds(90));
  EXPECT_EQ(history.mean(kAnn, ModelId::none()), seconds(10));
}

}  // namespace
}  // namespace fairlead
