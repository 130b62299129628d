#include "fairlead/policy/decision_budget.h"

#include "fairlead/base/archive.h"

#include <gtest/gtest.h>

namespace fairlead {
namespace {

constexpr JobId kA(0);
constexpr JobId kB(1);
constexpr JobId kC(2);

TEST(DecisionBudget, RefusesNothingWithoutALimit) {
  DecisionBudget budget;
  budget.begin(true);
  for (std::uint32_t row = 0; row < 1000; ++row) EXPECT_TRUE(budget.examine(JobId(row)));
  EXPECT_FALSE(budget.is_cut());
  EXPECT_FALSE(budget.end());
  EXPECT_FALSE(budget.continues());
}

TEST(DecisionBudget, EndsTheDecisionAtTheFirstJobBeyondIt) {
  DecisionBudget budget(2);
  budget.begin(true);
  EXPECT_TRUE(budget.examine(kA));
  EXPECT_TRUE(budget.may_examine(kB)) << "asking counts nothing";
  EXPECT_TRUE(budget.examine(kB));
  EXPECT_FALSE(budget.is_cut());
  EXPECT_FALSE(budget.examine(kC));
  EXPECT_FALSE(budget.examine(JobId(3)));
  EXPECT_EQ(budget.cut_at(), kC);
  EXPECT_EQ(budget.evaluations(), 2);
  EXPECT_TRUE(budget.end());
}

TEST(DecisionBudget, HasNoLimitInAWholeDecision) {
  DecisionBudget budget(1);
  budget.begin(true, true);
  for (std::uint32_t row = 0; row < 10; ++row) EXPECT_TRUE(budget.examine(JobId(row)));
  EXPECT_FALSE(budget.is_cut());
  EXPECT_FALSE(budget.end());
  budget.begin(true);
  EXPECT_TRUE(budget.examine(kA));
  EXPECT_FALSE(budget.examine(kB)) << "the next one has its limit again";
}

TEST(DecisionBudget, LetsASearchGoOnForTheSameJob) {
  DecisionBudget budget(1);
  budget.begin(true);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(budget.examine(kA));
  EXPECT_EQ(budget.evaluations(), 3);
  EXPECT_FALSE(budget.is_cut());
  EXPECT_FALSE(budget.examine(kB));
  EXPECT_TRUE(budget.examine(kA));
}

TEST(DecisionBudget, PassesOverJobsThatThePassHasExamined) {
  DecisionBudget budget(1);
  budget.begin(true);
  EXPECT_TRUE(budget.examine(kA));
  EXPECT_FALSE(budget.examine(kB));
  EXPECT_TRUE(budget.end());
  budget.begin(false);
  EXPECT_TRUE(budget.continues());
  EXPECT_FALSE(budget.examine(kA));
  EXPECT_FALSE(budget.is_cut()) << "it has had its turn";
  EXPECT_TRUE(budget.examine(kB));
  EXPECT_FALSE(budget.end()) << "all were examined, and nothing has changed";
  budget.begin(true);
  EXPECT_FALSE(budget.continues());
  EXPECT_TRUE(budget.examine(kA)) << "another pass";
}

TEST(DecisionBudget, RepeatsAPassDuringWhichThereWasNews) {
  DecisionBudget budget(1);
  budget.begin(true);
  budget.examine(kA);
  budget.examine(kB);
  EXPECT_TRUE(budget.end());
  budget.begin(true);
  EXPECT_FALSE(budget.examine(kA)) << "although the news may have made room";
  EXPECT_TRUE(budget.examine(kB));
  EXPECT_TRUE(budget.end());
  budget.begin(false);
  EXPECT_TRUE(budget.continues());
  EXPECT_TRUE(budget.examine(kA));
  EXPECT_FALSE(budget.examine(kB));
  EXPECT_TRUE(budget.end());
  budget.begin(false);
  EXPECT_FALSE(budget.examine(kA));
  EXPECT_TRUE(budget.examine(kB));
  EXPECT_FALSE(budget.end()) << "no news: no third pass";
}

TEST(DecisionBudget, RepeatsSearchesThatEachDecisionMustRepeat) {
  DecisionBudget budget(1);
  budget.begin(true);
  EXPECT_TRUE(budget.examine_again(kA));
  EXPECT_FALSE(budget.examine_again(kB));
  EXPECT_TRUE(budget.end());
  budget.begin(false);
  EXPECT_TRUE(budget.examine_again(kA));
  EXPECT_TRUE(budget.examine_again(kB)) << "the other one did not count";
  EXPECT_FALSE(budget.examine_again(kC));
  EXPECT_EQ(budget.evaluations(), 1);
  EXPECT_TRUE(budget.end());
}

TEST(DecisionBudget, ContinuesARoundThatWasCut) {
  DecisionBudget budget(1);
  budget.begin(true);
  EXPECT_TRUE(budget.in_round(true));
  budget.examine(kA);
  budget.examine(kB);
  budget.end();
  budget.begin(false);
  EXPECT_TRUE(budget.in_round(false));
  budget.examine(kB);
  budget.end();
  budget.begin(true);
  EXPECT_FALSE(budget.in_round(false));
}

TEST(DecisionBudget, GoesOnInItsPassAfterItWasSaved) {
  DecisionBudget budget(1);
  budget.begin(true);
  budget.in_round(true);
  budget.examine(kA);
  budget.examine(kB);
  budget.end();
  Writer writer;
  save(budget, writer);
  DecisionBudget loaded(1);
  Reader reader(writer.bytes());
  load(loaded, reader);
  ASSERT_TRUE(reader.ok());
  EXPECT_EQ(reader.left(), 0U);
  loaded.begin(false);
  EXPECT_TRUE(loaded.continues());
  EXPECT_TRUE(loaded.in_round(false));
  EXPECT_FALSE(loaded.examine(kA));
  EXPECT_TRUE(loaded.examine(kB));
}

}  // namespace
}  // namespace fairlead
