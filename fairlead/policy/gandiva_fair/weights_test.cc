#include "fairlead/policy/gandiva_fair/testing.h"

#include <gtest/gtest.h>

namespace fairlead {
namespace {

struct Scales : Town {
  Scales(std::string_view shorthand, const std::vector<std::int64_t>& tickets)
      : Town(shorthand, tickets) {}

  void begin() {
    update();
    weights.begin();
  }
  double urgency(JobId job, double ahead = 0) const {
    return weights.urgency(view(), client(job), ahead);
  }
  double weight(JobId job, double ahead = 0) const {
    return weights.weight(view(), client(job), ahead);
  }

  Weights weights{kQuantum, homes, accounts};
};

// Two users with two jobs each on a node of four GPUs: two GPUs are a turn of each.
struct Four : Scales {
  Four() : Scales("1xV100:4", {1, 1}) {
    for (UserId user : {kAnn, kBen}) {
      for (int i = 0; i < 2; ++i) has_run(keep(user, 4, 0));
    }
  }
};

const JobId kOfAnn(0);
const JobId kOfBen(2);

TEST(Weights, OfAJobAreItsGangTimesTheCubeOfItsUrgency) {
  Four four;
  four.begin();
  // Its gang is two turns of its user, so the middle of its turn is one turn away.
  EXPECT_DOUBLE_EQ(four.urgency(kOfAnn), 5 - 1);
  EXPECT_DOUBLE_EQ(four.weight(kOfAnn), 4 * 4 * 4 * 4);
}

TEST(Weights, AreLessBehindOtherJobsOfTheUser) {
  Four four;
  four.begin();
  EXPECT_DOUBLE_EQ(four.urgency(kOfAnn, 4), 5 - 2 - 1) << "two turns of its user come before it";
}

TEST(Weights, GrowByATurnForEachTurnThatTheUserIsBehind) {
  Four four;
  four.begin();
  four.run(kOfAnn);
  four.wait(Town::kQuantum);
  four.begin();
  // Ann had four GPUs and was due two.
  EXPECT_NEAR(four.weights.lag(kAnn, kFast), -1, 1e-9);
  EXPECT_NEAR(four.weights.lag(kBen, kFast), 1, 1e-9);
  EXPECT_NEAR(four.urgency(kOfAnn), 4 - 1, 1e-9);
  EXPECT_NEAR(four.urgency(kOfBen), 4 + 1, 1e-9);
}

TEST(Weights, CountATurnAtOnce) {
  Four four;
  four.begin();
  four.weights.count_turn(four.view(), four.client(kOfAnn));
  EXPECT_DOUBLE_EQ(four.weights.lag(kAnn, kFast), -2) << "four GPUs of two that are due";
  EXPECT_DOUBLE_EQ(four.urgency(JobId(1)), 4 - 2);
  EXPECT_DOUBLE_EQ(four.urgency(kOfBen), 4);
}

TEST(Weights, AreAboveZeroHoweverFarAheadAUserIs) {
  Four four;
  four.begin();
  for (int i = 0; i < 10; ++i) four.weights.count_turn(four.view(), four.client(kOfAnn));
  EXPECT_GT(four.weight(kOfAnn), 0);
  EXPECT_LT(four.weight(kOfAnn), 1e-6);
}

TEST(Weights, PutAUserThatIsDueAllItAsksForHalfATurnAhead) {
  Scales scales("1xV100:4", {1, 1});
  const JobId small = scales.keep(kAnn, 1, 0);
  const JobId large = scales.keep(kBen, 4, 0);
  for (JobId job : {small, large}) scales.has_run(job);
  scales.begin();
  EXPECT_DOUBLE_EQ(scales.urgency(small), 5 - 0.5 + 0.5) << "half a turn is half a GPU of one";
  EXPECT_DOUBLE_EQ(scales.urgency(large), 5 - 2.0 / 3) << "due three GPUs of the four it asks for";
}

TEST(Weights, PutANewcomersFirstJobBeforeAGangOfTheNode) {
  Scales scales("1xV100:4", {1, 1});
  const JobId gang = scales.keep(kAnn, 4, 0);
  scales.has_run(gang);
  const JobId first = scales.keep(kBen, 1, 0);
  scales.begin();
  EXPECT_DOUBLE_EQ(scales.urgency(first), 5 + 10);
  EXPECT_GT(scales.weight(first), scales.weight(gang));
  EXPECT_LT(scales.urgency(first, 1), 5) << "one of the user's jobs is enough";
}

TEST(Weights, TakeForANewcomerOnlyWhoHasNothingAndIsNotAhead) {
  Scales scales("1xV100:4", {1, 1});
  const JobId gang = scales.keep(kAnn, 4, 0);
  scales.has_run(gang);
  const JobId had_turn = scales.keep(kBen, 2, 0);
  const JobId next = scales.keep(kBen, 2, 0);
  scales.update();
  scales.has_run(had_turn);
  scales.run(had_turn);
  scales.begin();
  EXPECT_LT(scales.urgency(next), 5) << "Ben has two GPUs";
  scales.run(had_turn, false);
  scales.begin();
  EXPECT_GT(scales.urgency(next), 10);
  EXPECT_LT(scales.urgency(had_turn), 5) << "it ran before";
  scales.weights.count_turn(scales.view(), scales.client(had_turn));
  EXPECT_LT(scales.urgency(next), 5) << "Ben got two GPUs on another node just now";
}

TEST(Weights, GrowByATurnForEachTurnThatAJobWaitedAfterTwenty) {
  Four four;
  four.begin();
  ASSERT_EQ(four.client(kOfAnn).tickets, 1) << "a turn of the gang of four is four quanta";
  for (int turn = 0; turn < 20; ++turn) four.wait(seconds(4 * 60));
  EXPECT_DOUBLE_EQ(four.urgency(kOfAnn), 4);
  four.wait(seconds(4 * 60));
  EXPECT_DOUBLE_EQ(four.urgency(kOfAnn), 4 + 1);
  for (int i = 0; i < 10; ++i) four.weights.count_turn(four.view(), four.client(kOfAnn));
  EXPECT_NEAR(four.urgency(kOfAnn), 1, 0.01) << "however far ahead its user is";
  four.run(kOfAnn);
  EXPECT_LT(four.urgency(kOfAnn), 0.01) << "it waits no more";
}

TEST(Weights, AreByWhatIsDueOfTheJobsType) {
  // Ann is due two of the four fast GPUs and one of the two slow ones.
  Scales scales("1xV100:4,1xK80:2", {1, 1});
  for (UserId user : {kAnn, kBen}) {
    for (int i = 0; i < 2; ++i) scales.has_run(scales.keep(user, 4, 0));
    scales.has_run(scales.keep(user, 2, 1));
  }
  const JobId on_fast(0);
  const JobId on_slow(2);
  scales.begin();
  EXPECT_DOUBLE_EQ(scales.urgency(on_fast), 5 - 1);
  EXPECT_DOUBLE_EQ(scales.urgency(on_slow), 5 - 1);
  scales.weights.count_turn(scales.view(), scales.client(on_fast));
  EXPECT_DOUBLE_EQ(scales.weights.lag(kAnn, kFast), -2);
  EXPECT_DOUBLE_EQ(scales.weights.lag(kAnn, kSlow), 0);
}

TEST(Weights, GrowByATurnAtMostWhereAUserIsBehindOnTheTypeOnly) {
  // Each is due two GPUs of each type and has four of one: nothing is owed in sum.
  Scales scales("1xV100:4,1xK80:4", {1, 1});
  for (UserId user : {kAnn, kBen}) {
    for (std::size_t node = 0; node < 2; ++node) scales.has_run(scales.keep(user, 4, node));
  }
  scales.run(JobId(1));  // Ann's on the slow GPUs
  scales.run(JobId(2));  // Ben's on the fast ones
  scales.update();
  scales.wait(seconds(30));
  scales.begin();
  EXPECT_DOUBLE_EQ(scales.weights.lag(kAnn, kFast), 0.5);
  EXPECT_DOUBLE_EQ(scales.weights.lag(kAnn, kSlow), -0.5);
  scales.wait(seconds(600));
  scales.begin();
  EXPECT_DOUBLE_EQ(scales.weights.lag(kAnn, kFast), 1);
  EXPECT_DOUBLE_EQ(scales.weights.lag(kBen, kFast), -1);
}

}  // namespace
}  // namespace fairlead
