#include "fairlead/policy/gandiva_fair/testing.h"

#include <gtest/gtest.h>

namespace fairlead {
namespace {

struct Choosing : Town {
  using Town::Town;

  NodeId find(JobId job) { return choice.find(view(), job).node; }
  std::vector<Slice> slices(JobId job) {
    const Home home = choice.find(view(), job);
    return {home.slices.begin(), home.slices.end()};
  }

  HomeChoice choice{homes, accounts};
};

using Slices = std::vector<Slice>;

// --- One node ---------------------------------------------------------------------------------

TEST(HomeChoice, IsTheTightestNodeWhereAllFit) {
  Choosing town("3xV100:4", {1});
  town.keep(kAnn, 1, 0);
  town.keep(kAnn, 2, 1);
  EXPECT_EQ(town.find(town.arrive(kAnn, 2)), NodeId(1));
  EXPECT_EQ(town.find(town.arrive(kAnn, 3)), NodeId(0));
  EXPECT_EQ(town.find(town.arrive(kAnn, 4)), NodeId(2));
}

TEST(HomeChoice, IsTheNodeThatCanServeTheJobBestWhereNoneHasRoom) {
  // Both nodes are due one GPU. One node has a single GPU all of the time; the other has a gang a
  // quarter of the time, with which another gang can take turns.
  Choosing town("2xV100:4", {1, 1});
  town.keep(kAnn, 1, 0);
  town.keep(kBen, 4, 1);
  const JobId large = town.arrive(kBen, 4);
  town.update();
  town.homes.queue(NodeId(0))[0].tickets = 1;
  town.homes.queue(NodeId(1))[0].tickets = 1;
  EXPECT_EQ(town.find(large), NodeId(1));
}

TEST(HomeChoice, IsNoneWhereAllNodesKeepAsManyJobsAsTheyMay) {
  Choosing town("1xV100:2", {1}, 1);
  for (int i = 0; i < 4; ++i) town.keep(kAnn, 1, 0);
  const JobId job = town.arrive(kAnn, 1);
  EXPECT_TRUE(town.choice.find(town.view(), job).is_none());
  EXPECT_TRUE(town.choice.fits_when_empty(town.view(), job));
}

TEST(HomeChoice, KnowsWhatWouldFitOnNodesThatAreUp) {
  Choosing town("2xV100:4,1xK80:8", {1});
  const JobId eight = town.arrive(kAnn, 8, type_bit(kFast));
  const JobId tasks = town.arrive(kAnn, 6, type_bit(kFast), 3);
  const JobId three = town.arrive(kAnn, 9, type_bit(kFast), 3);
  EXPECT_TRUE(town.choice.fits_when_empty(town.view(), eight));
  EXPECT_TRUE(town.choice.fits_when_empty(town.view(), tasks));
  EXPECT_FALSE(town.choice.fits_when_empty(town.view(), three)) << "two tasks of three at most";
  town.homes.resize(NodeId(1), 0);
  EXPECT_FALSE(town.choice.fits_when_empty(town.view(), eight));
}

// --- Which GPU type ---------------------------------------------------------------------------

TEST(HomeChoice, IsTheFastestTypeWhereTheUserKeepsLessThanItIsEntitledTo) {
  Choosing town("1xV100:4,1xK80:4", {1, 1});
  const JobId first = town.arrive(kAnn, 1);
  for (int i = 0; i < 3; ++i) town.arrive(kAnn, 1);
  for (int i = 0; i < 8; ++i) town.arrive(kBen, 1);
  town.update();
  ASSERT_EQ(town.accounts.due().traded(kAnn, kFast), 2);
  town.learn(first, 0, 3);
  town.learn(first, 1, 1);
  EXPECT_EQ(town.find(first), NodeId(0));
  for (int i = 0; i < 4; ++i) town.keep(kBen, 1, 0);
  EXPECT_EQ(town.find(first), NodeId(0))
      << "its entitlement stands, though Ben's jobs fill the node";
}

TEST(HomeChoice, IsAnotherTypeWithGpusToSpareOnceTheUserKeepsWhatItIsEntitledTo) {
  Choosing town("1xV100:4,1xK80:4", {1, 1});
  const JobId job = town.arrive(kAnn, 1);
  for (int i = 0; i < 2; ++i) town.keep(kAnn, 1, 0);
  for (int i = 0; i < 2; ++i) town.keep(kBen, 1, 0);
  town.arrive(kBen, 8);
  town.update();
  town.learn(job, 0, 3);
  town.learn(job, 1, 1);
  EXPECT_EQ(town.find(job), NodeId(1));
}

TEST(HomeChoice, TakesAnUnknownSpeedForTheSlowestThatIsKnown) {
  Choosing town("1xV100:1,1xP100:1,1xK80:1", {1});
  const JobId job = town.arrive(kAnn, 1);
  EXPECT_EQ(speed_on(town.view(), job, GpuTypeId(2)), 1);
  town.learn(job, 0, 4);
  town.learn(job, 1, 2);
  EXPECT_EQ(speed_on(town.view(), job, GpuTypeId(0)), 4);
  EXPECT_EQ(speed_on(town.view(), job, GpuTypeId(2)), 2);
}

// --- Several nodes ----------------------------------------------------------------------------

TEST(HomeChoice, OfAJobLargerThanANodeIsTheNodesWithTheLeastToDo) {
  Choosing town("3xV100:4", {1, 1});
  for (int i = 0; i < 2; ++i) town.keep(kBen, 4, 0);
  const JobId large = town.arrive(kAnn, 6);
  town.update();
  EXPECT_EQ(town.slices(large), (Slices{{NodeId(1), 4}, {NodeId(2), 2}}));
}

TEST(HomeChoice, PutsWholeTasksOnEachNode) {
  Choosing town("3xV100:4", {1});
  const JobId large = town.arrive(kAnn, 6, kAllTypes, 3);
  EXPECT_EQ(town.slices(large), (Slices{{NodeId(0), 3}, {NodeId(1), 3}}));
}

TEST(HomeChoice, SharesTheNodesOfAnotherLargeJobRatherThanToOverlapWithTwo) {
  Choosing town("4xV100:4", {1});
  town.spread(kAnn, {{NodeId(1), 4}, {NodeId(3), 4}});
  EXPECT_EQ(town.slices(town.arrive(kAnn, 8)), (Slices{{NodeId(0), 4}, {NodeId(2), 4}}))
      << "these have nothing to do";
  town.spread(kAnn, {{NodeId(0), 4}, {NodeId(2), 4}});
  EXPECT_EQ(town.slices(town.arrive(kAnn, 8)), (Slices{{NodeId(1), 4}, {NodeId(3), 4}}));
}

TEST(HomeChoice, MixesTypesOnlyIfNoneHasEnough) {
  Choosing town("2xV100:4,1xK80:4", {1});
  EXPECT_EQ(town.slices(town.arrive(kAnn, 8)).size(), 2U);
  EXPECT_EQ(town.slices(town.arrive(kAnn, 12)),
            (Slices{{NodeId(0), 4}, {NodeId(1), 4}, {NodeId(2), 4}}));
  EXPECT_TRUE(town.slices(town.arrive(kAnn, 12, type_bit(kFast) | type_bit(kSlow), 3)).empty())
      << "each node has room for one task of three";
}

}  // namespace
}  // namespace fairlead
