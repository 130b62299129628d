#include "fairlead/policy/gandiva_fair/testing.h"

#include <gtest/gtest.h>

#include <vector>

namespace fairlead {
namespace {

// A town that carries out moves at once.
struct Movers : Town {
  using Town::Town;

  CarryOut carry_out() {
    return [this](const Move& move) {
      homes.move(view(), move.job, move.to);
      cool_down.on_move(move.job, now);
      moved.push_back(move.job);
    };
  }
  void balance(double gain = 0.05) {
    update();
    Balancer(gain, homes, choice, cool_down).balance(view(), carry_out());
  }

  HomeChoice choice{homes, accounts};
  CoolDown cool_down{seconds(600)};
  std::vector<JobId> moved;
};

using Moved = std::vector<JobId>;

TEST(Balancer, MovesNothingWhereAllIsServed) {
  Movers town("2xV100:4", {1});
  for (std::size_t node = 0; node < 2; ++node) {
    for (int i = 0; i < 2; ++i) town.keep(kAnn, 4, node);  // they take turns
  }
  town.balance();
  EXPECT_EQ(town.moved, Moved{});
}

TEST(Balancer, MovesAJobToANodeWithLessToDo) {
  Movers town("2xV100:2", {1});
  for (int i = 0; i < 3; ++i) town.keep(kAnn, 1, 0);
  town.balance();
  ASSERT_EQ(town.moved.size(), 1U);
  EXPECT_EQ(town.node_of(town.moved[0]), NodeId(1));
}

TEST(Balancer, MovesTheSingleThatKeepsAPairFromRunning) {
  // A pair and a single on three GPUs' worth of two, a single on the other node.
  Movers town("2xV100:2", {1, 1});
  const JobId pair = town.keep(kAnn, 2, 0);
  const JobId single = town.keep(kBen, 1, 0);
  town.keep(kBen, 1, 1);
  town.balance();
  EXPECT_EQ(town.moved, Moved{single});
  EXPECT_EQ(town.node_of(pair), NodeId(0));
  EXPECT_EQ(town.node_of(single), NodeId(1));
}

TEST(Balancer, MovesNothingThatGainsTooLittle) {
  // Ann's singles are due half of the time, Ben's 0.4.
  const auto moves = [](double gain) {
    Movers town("2xV100:2", {1, 1});
    for (int i = 0; i < 4; ++i) town.keep(kAnn, 1, 0);
    town.keep(kBen, 1, 0);
    for (int i = 0; i < 4; ++i) town.keep(kBen, 1, 1);
    town.balance(gain);
    return town.moved.size();
  };
  EXPECT_EQ(moves(0), 1U);
  EXPECT_EQ(moves(1.5), 0U);
}

TEST(Balancer, MovesOneJobInARoundAndOneMoreForFourNodes) {
  const auto moves = [](std::string_view cluster) {
    Movers town(cluster, {1});
    for (std::size_t node = 0; node < 2; ++node) {
      for (int i = 0; i < 4; ++i) town.keep(kAnn, 1, node);
    }
    town.balance();
    return town.moved.size();
  };
  EXPECT_EQ(moves("3xV100:2"), 1U);
  EXPECT_EQ(moves("4xV100:2"), 2U);
}

TEST(Balancer, LetsAJobThatMovedRest) {
  Movers town("2xV100:2", {1});
  for (int i = 0; i < 3; ++i) town.keep(kAnn, 1, 0);
  for (JobId job : ids<JobId>(3)) town.cool_down.on_move(job, town.now);
  town.balance();
  EXPECT_EQ(town.moved, Moved{});
  town.wait(seconds(600));
  town.balance();
  EXPECT_EQ(town.moved.size(), 1U);
}

TEST(Balancer, PartsSpreadJobsThatCrowd) {
  Movers town("5xV100:2", {1});
  const JobId first = town.spread(kAnn, {{NodeId(0), 2}, {NodeId(1), 2}});
  town.spread(kAnn, {{NodeId(1), 2}, {NodeId(2), 2}});
  town.balance();
  EXPECT_EQ(town.moved, Moved{first});
}

}  // namespace
}  // namespace fairlead
