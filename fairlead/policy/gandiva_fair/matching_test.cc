#include "fairlead/policy/gandiva_fair/testing.h"

#include <gtest/gtest.h>

#include <vector>

namespace fairlead {
namespace {

// V100 and K80 on nodes of four, one of each by default. V100 are three times as fast.
struct TwoTypes : Town {
  explicit TwoTypes(std::string_view shorthand = "1xV100:4,1xK80:4") : Town(shorthand, {1, 1}) {}

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
  std::int64_t kept(UserId user, GpuTypeId type) const {
    return accounts.due().kept().gpus(user, type);
  }

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

// Two nodes of each type: a gang of eight runs on two nodes.
struct WideGangs : TwoTypes {
  WideGangs() : TwoTypes("2xV100:4,2xK80:4") {}

  static std::vector<Slice> nodes(std::size_t first) {
    return {{NodeId(first), 4}, {NodeId(first + 1), 4}};
  }
  JobId spread_on_slow(UserId user) {
    const JobId job = spread(user, nodes(2));
    learn_on(job, nodes(0), 3);
    learn_on(job, nodes(2), 1);
    return job;
  }
};

TEST(Matching, MovesAGangOfSeveralNodesToFasterGpusThatNoJobWants) {
  WideGangs town;
  const JobId job = town.spread_on_slow(kAnn);
  town.match(100);
  EXPECT_EQ(town.kept(kAnn, kFast), 8);
  EXPECT_EQ(town.homes.spread(job).slices, WideGangs::nodes(0));
}

TEST(Matching, MovesAGangOfSeveralNodesToTheTypeWhereTheUserKeepsLessThanItIsEntitledTo) {
  // Ann is due half of the fast GPUs, on which its gang has more than on all slow ones.
  WideGangs town;
  const JobId job = town.spread_on_slow(kAnn);
  for (std::size_t node = 0; node < 2; ++node) town.keep(kBen, 4, node);
  town.match();
  EXPECT_EQ(town.homes.spread(job).slices, WideGangs::nodes(0));
}

TEST(Matching, LeavesAGangOfSeveralNodesIfAnotherJobWantsAFasterGpu) {
  WideGangs town;
  town.spread_on_slow(kAnn);
  town.keep(kBen, 1, 1);
  town.match(100);
  EXPECT_EQ(town.kept(kAnn, kFast), 0);
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
