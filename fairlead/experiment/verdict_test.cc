#include "fairlead/experiment/verdict.h"

#include "fairlead/experiment/figures.h"

#include <gtest/gtest.h>

#include <numeric>

namespace fairlead {
namespace {

PublishedClaim claim_of(Bound bound, double expected, double tolerance = 0) {
  PublishedClaim claim;
  claim.figure = find_claim_figure("gain");
  claim.bound = bound;
  claim.expected = {expected};
  claim.tolerance = tolerance;
  return claim;
}

Verdict verdict(const PublishedClaim& claim, std::vector<double> values) {
  return judge(claim, std::move(values), claim.expected_in(0)).verdict;
}

TEST(Verdict, ComparesTheOnlyValue) {
  EXPECT_EQ(verdict(claim_of(Bound::kAtMost, 3), {3}), Verdict::kReached);
  EXPECT_EQ(verdict(claim_of(Bound::kAtMost, 3), {3.1}), Verdict::kMissed);
  EXPECT_EQ(verdict(claim_of(Bound::kAtLeast, 3), {3}), Verdict::kReached);
  EXPECT_EQ(verdict(claim_of(Bound::kAtLeast, 3), {2.9}), Verdict::kMissed);
  EXPECT_EQ(verdict(claim_of(Bound::kEqual, 3, 0.5), {3.5}), Verdict::kReached);
  EXPECT_EQ(verdict(claim_of(Bound::kEqual, 3, 0.5), {2.5}), Verdict::kReached);
  EXPECT_EQ(verdict(claim_of(Bound::kEqual, 3, 0.5), {2.4}), Verdict::kMissed);
  EXPECT_EQ(verdict(claim_of(Bound::kFluid, 3, 0.5), {3.6}), Verdict::kMissed);
}

// The interval of 2.8, 2.9 and 3.0 is 2.9 -+ 4.303 * 0.1 / sqrt(3): 2.65 to 3.15.
TEST(Verdict, IsByTheIntervalOfTheMean) {
  const std::vector<double> values = {2.8, 2.9, 3.0};
  EXPECT_EQ(verdict(claim_of(Bound::kAtMost, 3.2), values), Verdict::kReached);
  EXPECT_EQ(verdict(claim_of(Bound::kAtMost, 3.1), values), Verdict::kUndecided);
  EXPECT_EQ(verdict(claim_of(Bound::kAtMost, 2.7), values), Verdict::kUndecided);
  EXPECT_EQ(verdict(claim_of(Bound::kAtMost, 2.6), values), Verdict::kMissed);
  EXPECT_EQ(verdict(claim_of(Bound::kAtLeast, 2.6), values), Verdict::kReached);
  EXPECT_EQ(verdict(claim_of(Bound::kAtLeast, 2.7), values), Verdict::kUndecided);
  EXPECT_EQ(verdict(claim_of(Bound::kAtLeast, 3.2), values), Verdict::kMissed);
  EXPECT_EQ(verdict(claim_of(Bound::kEqual, 3, 0.4), values), Verdict::kReached);
  EXPECT_EQ(verdict(claim_of(Bound::kEqual, 3, 0.1), values), Verdict::kUndecided);
  EXPECT_EQ(verdict(claim_of(Bound::kEqual, 4, 0.1), values), Verdict::kMissed);
}

TEST(Verdict, IsThatNoPolicyCanWhereABoundForbidsIt) {
  const PublishedClaim claim = claim_of(Bound::kAtLeast, 3);
  EXPECT_EQ(judge(claim, {1}, 3, 2.9).verdict, Verdict::kImpossible);
  EXPECT_EQ(judge(claim, {2.8, 2.9, 3.2}, 3, 2.9).verdict, Verdict::kImpossible);
  EXPECT_EQ(judge(claim, {1}, 3, 3.1).verdict, Verdict::kMissed);
  EXPECT_EQ(judge(claim, {3}, 3, 2.9).verdict, Verdict::kReached);  // the bound is a mean, too
  EXPECT_EQ(judge(claim, {1}, std::nullopt, 2.9).verdict, Verdict::kMeasured);
}

TEST(Verdict, IsNoneWhereNothingIsExpected) {
  EXPECT_EQ(verdict(claim_of(Bound::kNone, 0), {7}), Verdict::kMeasured);
  EXPECT_EQ(judge(claim_of(Bound::kAtMost, 3), {7}, std::nullopt).verdict, Verdict::kMeasured);
}

TEST(Verdict, AllowsAPartOfWhatIsExpected) {
  PublishedClaim claim = claim_of(Bound::kEqual, 20);
  claim.tolerance_percent = 10;
  EXPECT_EQ(verdict(claim, {22}), Verdict::kReached);
  EXPECT_EQ(verdict(claim, {22.1}), Verdict::kMissed);
  EXPECT_EQ(verdict(claim, {18}), Verdict::kReached);
  EXPECT_EQ(verdict(claim, {17.9}), Verdict::kMissed);
}

TEST(Verdict, OfATextIsEquality) {
  PublishedClaim claim = claim_of(Bound::kText, 0);
  claim.expected_text = "B A A";
  EXPECT_EQ(judge_text(claim, "B A A").verdict, Verdict::kReached);
  EXPECT_EQ(judge_text(claim, "B A B").verdict, Verdict::kMissed);
  claim.bound = Bound::kNone;
  EXPECT_EQ(judge_text(claim, "B").verdict, Verdict::kMeasured);
}

std::size_t needed(std::vector<double> values, std::optional<double> expected) {
  return seeds_needed(judge(claim_of(Bound::kAtMost, 0), std::move(values), expected));
}

// The half widths are 4.303 * 0.1 / sqrt(3) = 0.248, and ten times as much; 5 % of 2.9 are 0.145.
TEST(SeedsNeeded, NarrowTheInterval) {
  EXPECT_EQ(needed({2.8, 2.9, 3.0}, 1), 9u);  // 3 * (0.248 / 0.145)^2 = 8.8
  EXPECT_EQ(needed({2.8, 2.9, 3.0}, 5), 3u);  // the expected value allows 0.25
  EXPECT_EQ(needed({1.9, 2.9, 3.9}, 1), kSeedsMax);
  EXPECT_EQ(needed({2.9, 2.9, 2.9}, 1), 3u);
}

TEST(SeedsNeeded, AreThePresentOnesWhereNothingIsJudgedOrNoIntervalIsKnown) {
  EXPECT_EQ(needed({1.9, 2.9, 3.9}, std::nullopt), 3u);
  EXPECT_EQ(needed({1, 2}, 1), 2u);
  EXPECT_EQ(seeds_needed(judge_text(claim_of(Bound::kText, 0), "A")), 0u);
  std::vector<double> many(30);
  std::iota(many.begin(), many.end(), 1);
  EXPECT_EQ(needed(std::move(many), 1), 30u);
}

}  // namespace
}  // namespace fairlead
