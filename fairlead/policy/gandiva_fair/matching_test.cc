#include "fairlead/policy/gandiva_fair/testing.h"

#include <gtest/gtest.h>

#include <vector>

namespace fairlead {
namespace {

const UserId kAnn(0);
const UserId kBen(1);
const GpuTypeId kFast(0);
const GpuTypeId kSlow(1);

// A node of four V100 and one of four K80, on which V100 are three times as fast.
struct TwoTypes : Town {
  TwoTypes() : Town("1xV100:4,1xK80:4", {1, 1}) {}

  // Sets these rates per GPU for the user's jobs.
  void learn_types(JobId job, double fast = 3, double slow = 1) {
    learn(job, 0, fast);
    learn(job, 1, slow);
  }
  void match(double gain = 0.05) {
    update();
    Matching(gain, homes, accounts, choice, cool_down).match(view(), [this](const Move& move) {
      homes.move(view(), move.job, move.to);
      cool_down.on_move(move.job, now);
    });
  }
  std::int64_t kept(UserId user, GpuTypeId type) const { return accounts.due().kept(user, type); }

  HomeChoice choice{homes, accounts};
  CoolDown cool_down{seconds(600)};
};

TEST(Matching, MovesJobsToTheTypeWhereTheUserKeepsLessThanItIsEntitledTo) {
  // Each is entitled to two GPUs of either type.
  TwoTypes town;
  for (int i = 0; i < 4; ++i) {
    town.keep(kAnn, 1, 1);
    town.keep(kBen, 1, 0);
  }
  for (int i = 0; i < 2; ++i) town.keep(kBen, 1, 1);
  town.learn_types(JobId(0));
  town.match();
  EXPECT_EQ(town.kept(kAnn, kFast), 2);
  EXPECT_EQ(town.kept(kAnn, kSlow), 2);
}

TEST(Matching, KeepsJobsThatAreToRunAllTheTimeAsTheirUserIsEntitledToTypes) {
  // Ann is due all four GPUs that she asks for, two of them fast, but keeps three jobs there.
  TwoTypes town;
  for (int i = 0; i < 3; ++i) town.keep(kAnn, 1, 0);
  town.keep(kAnn, 1, 1);
  for (int i = 0; i < 6; ++i) town.keep(kBen, 1, i < 3 ? 0 : 1);
  for (std::size_t job = 0; job < 10; ++job) town.learn_types(JobId(job));
  town.match();
  EXPECT_EQ(town.kept(kAnn, kFast), 2);
  EXPECT_EQ(town.kept(kAnn, kSlow), 2);
}

TEST(Matching, MovesNothingThatGainsTooLittle) {
  TwoTypes town;
  for (int i = 0; i < 4; ++i) {
    town.keep(kAnn, 1, 1);
    town.keep(kBen, 1, 0);
  }
  for (int i = 0; i < 2; ++i) town.keep(kBen, 1, 1);
  town.learn_types(JobId(0));
  town.match(10);
  EXPECT_EQ(town.kept(kAnn, kFast), 0);
}

TEST(Matching, MovesOneJobOfAUserToFasterGpusThatNoJobWants) {
  TwoTypes town;
  for (int i = 0; i < 2; ++i) town.keep(kAnn, 1, 1);
  town.learn_types(JobId(0));
  town.match(100);
  EXPECT_EQ(town.kept(kAnn, kFast), 1);
}

TEST(Matching, TriesATypeOnWhichTheSpeedIsNotKnown) {
  TwoTypes town;
  const JobId job = town.keep(kAnn, 1, 0);
  town.learn(job, 0, 3);
  town.match(100);
  EXPECT_EQ(town.kept(kAnn, kSlow), 1);
}

TEST(Matching, LeavesAJobOnTheFastTypeWhoseSpeedsAreKnown) {
  TwoTypes town;
  town.learn_types(town.keep(kAnn, 1, 0));
  town.match();
  EXPECT_EQ(town.kept(kAnn, kFast), 1);
}

TEST(Matching, LetsAJobThatMovedRest) {
  TwoTypes town;
  const JobId job = town.keep(kAnn, 1, 1);
  town.learn_types(job);
  town.cool_down.on_move(job, town.now);
  town.match();
  EXPECT_EQ(town.kept(kAnn, kFast), 0);
  town.wait(seconds(600));
  town.match();
  EXPECT_EQ(town.kept(kAnn, kFast), 1);
}

}  // namespace
}  // namespace fairlead
