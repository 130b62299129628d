#include "fairlead/policy/gandiva_fair/crowds.h"

#include "fairlead/policy/gandiva_fair/testing.h"

#include <gtest/gtest.h>

#include <array>

namespace fairlead {
namespace {

struct Crowd : Town {
  using Town::Town;

  Move part() {
    update();
    return part_crowd(view(), homes, choice, cool_down);
  }
  Move part_from_node() {
    update();
    return part_steady(view(), homes, cool_down);
  }

  HomeChoice choice{homes, accounts};
  CoolDown cool_down{seconds(600)};
};

TEST(Crowds, OfTwoJobsThatAreDueAllOfTheTimeOneMovesToNodesOfItsOwn) {
  Crowd town("5xV100:2", {1});
  const JobId first = town.spread(kAnn, {{NodeId(0), 2}, {NodeId(1), 2}});
  town.spread(kAnn, {{NodeId(1), 2}, {NodeId(2), 2}});
  const Move move = town.part();
  EXPECT_EQ(move.job, first);
  ASSERT_EQ(move.to.slices.size(), 2U);
  EXPECT_EQ(move.to.slices[0].node, NodeId(3));
  EXPECT_EQ(move.to.slices[1].node, NodeId(4));
}

TEST(Crowds, StayWhereNoOtherNodesHaveTheTime) {
  Crowd town("3xV100:2", {1});
  town.spread(kAnn, {{NodeId(0), 2}, {NodeId(1), 2}});
  town.spread(kAnn, {{NodeId(1), 2}, {NodeId(2), 2}});
  EXPECT_TRUE(town.part().is_none());
}

TEST(Crowds, AreNoneWhereTheJobsAreDueAllOfANodeTogether) {
  // Two of four GPUs each.
  Crowd town("5xV100:2", {1, 1, 8});
  for (UserId user : {UserId(0), UserId(1)}) town.spread(user, {{NodeId(0), 2}, {NodeId(1), 2}});
  for (std::size_t node = 2; node < 5; ++node) town.keep(UserId(2), 2, node);
  EXPECT_TRUE(town.part().is_none());
}

TEST(Crowds, AJobThatRestsStays) {
  Crowd town("5xV100:2", {1});
  const JobId first = town.spread(kAnn, {{NodeId(0), 2}, {NodeId(1), 2}});
  const JobId second = town.spread(kAnn, {{NodeId(1), 2}, {NodeId(2), 2}});
  town.cool_down.on_move(first, town.now);
  EXPECT_EQ(town.part().job, second);
  town.cool_down.on_move(second, town.now);
  EXPECT_TRUE(town.part().is_none());
}

// Ann is due all of three pairs of GPUs on a node of four, of which one pair can move; Bob's gangs of
// four take turns on the other nodes.
struct ThreePairs : Crowd {
  ThreePairs() : Crowd("3xV100:4", {1, 1}) {
    for (JobId& job : pairs) job = keep(kAnn, 2, 0);
    for (std::size_t node : {1U, 1U, 2U, 2U, 2U}) keep(UserId(1), 4, node);
  }
  std::array<JobId, 3> pairs{};
};

TEST(Crowds, OfJobsThatAreDueAllOfTheTimeOneMovesWhateverItCostsOthers) {
  ThreePairs town;
  const Move move = town.part_from_node();
  EXPECT_EQ(move.job, town.pairs[0]);
  EXPECT_EQ(move.to.node, NodeId(1));
}

TEST(Crowds, JobsThatAreDueAllOfTheTimeAndFitTogetherStay) {
  Crowd town("3xV100:4", {1, 1});
  for (int i = 0; i < 2; ++i) town.keep(kAnn, 2, 0);
  for (std::size_t node : {0U, 1U, 1U, 2U, 2U}) town.keep(UserId(1), 4, node);
  EXPECT_TRUE(town.part_from_node().is_none());
}

TEST(Crowds, AJobStaysWhereItWouldBeCrowdedElsewhereToo) {
  Crowd town("2xV100:4", {1, 1});
  for (int i = 0; i < 2; ++i) town.keep(kAnn, 3, 0);
  town.keep(UserId(1), 4, 1);
  EXPECT_TRUE(town.part_from_node().is_none());
}

TEST(Crowds, ASpreadJobThatIsDueAllOfTheTimeCountsOnEachOfItsNodes) {
  Crowd town("3xV100:2", {1, 1});
  town.spread(UserId(1), {{NodeId(0), 2}, {NodeId(1), 1}});
  const JobId single = town.keep(kAnn, 1, 0);
  const Move move = town.part_from_node();
  EXPECT_EQ(move.job, single);
  EXPECT_EQ(move.to.node, NodeId(1));
}

TEST(Crowds, OfJobsThatAreDueAllOfTheTimeThoseThatRestStay) {
  ThreePairs town;
  town.cool_down.on_move(town.pairs[0], town.now);
  EXPECT_EQ(town.part_from_node().job, town.pairs[1]);
}

}  // namespace
}  // namespace fairlead
