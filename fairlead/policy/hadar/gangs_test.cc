#include "fairlead/model/cluster_build.h"
#include "fairlead/policy/hadar/testing.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace fairlead {
namespace {

constexpr NodeId n0{0}, n1{1}, n2{2}, n3{3};

// Every gang found, as slices and worth.
using Found = std::vector<std::pair<std::vector<Slice>, double>>;

Found found(HadarStage& stage, const HadarBid& bid, bool mixed = true) {
  HadarGangs gangs(stage.cluster, mixed);
  Found all;
  gangs.ask(bid);
  for (const HadarGang& gang : gangs.find(stage.rest(gangs))) {
    all.emplace_back(slices(gangs.slices(gang)), gang.worth);
  }
  return all;
}

TEST(HadarGangs, EachTypeOffersItsTightestNodeWithRoom) {
  HadarStage stage("2xV100:4,2xK80:4");
  const Slice taken[] = {{n1, 2}, {n3, 1}};
  stage.free.take(stage.cluster, taken);
  const Found expected = {{{{n1, 2}}, 6}, {{{n3, 2}}, 2}};
  EXPECT_EQ(found(stage, stage.bid(2, {3, 1})), expected);
}

TEST(HadarGangs, OfEquallyTightNodesTheOneWhoseJobsWouldPayLeastIsTaken) {
  HadarStage stage("3xV100:4");
  const Slice present[] = {{n0, 4}, {n1, 4}};
  for (std::size_t i = 0; i < 2; ++i) {
    HadarBid& bid = stage.bid(4, {1});
    bid.present = std::span(present).subspan(i, 1);
    bid.present_worth = i == 0 ? 9 : 5;
  }
  const HadarBid newcomer = stage.bid(4, {20});
  HadarGangs gangs(stage.cluster, true);
  for (const NodeId expected : {n2, n1, n0}) {  // no bidder has n2
    gangs.begin(stage.bids);
    gangs.ask(newcomer);
    const std::vector<Slice> taken = slices(gangs.slices(gangs.find(stage.rest(gangs))[0]));
    EXPECT_EQ(taken, (std::vector<Slice>{{expected, 4}}));
    stage.free.take(stage.cluster, taken);
  }
}

TEST(HadarGangs, OnlyWhatIsWantedIsFound) {
  HadarStage stage("2xV100:4,2xK80:4");
  HadarBid& bid = stage.bid(2, {3, 1});
  const Slice present[] = {{n1, 2}};
  bid.present = present;
  bid.present_worth = 7;
  HadarGangs gangs(stage.cluster, true);
  gangs.ask(bid);
  const HadarRest rest = stage.rest(gangs);
  EXPECT_EQ(gangs.find(rest).size(), 3U);
  const auto slow = gangs.find_on(rest, GpuTypeId(1));
  ASSERT_EQ(slow.size(), 1U);
  EXPECT_EQ(slices(gangs.slices(slow[0])), (std::vector<Slice>{{n2, 2}}));
  EXPECT_EQ(gangs.find_present(rest)[0].worth, 7);
  EXPECT_TRUE(gangs.find_mixes(rest).empty());
}

TEST(HadarGangs, WhereNoNodeHasRoomAGangSpreadsAndIsWorthLess) {
  HadarStage stage("3xV100:2");
  const Slice taken[] = {{n1, 1}};
  stage.free.take(stage.cluster, taken);
  // The remainder goes to the tightest node that can take it.
  const Found expected = {{{{n0, 2}, {n1, 1}}, 4.5}};
  EXPECT_EQ(found(stage, stage.bid(3, {3}, 0.5)), expected);
}

TEST(HadarGangs, AGangThatSpreadsStaysInTheTightestRackWithRoom) {
  std::vector<NodeSpec> nodes;
  for (const std::uint32_t gpus : {4U, 4U, 3U, 3U}) {
    nodes.push_back({.gpu_type = "V100", .gpus = gpus, .rack = gpus == 4 ? "a" : "b"});
  }
  HadarStage stage(*build_cluster("racks", {}, nodes));
  const Found expected = {{{{n2, 3}, {n3, 2}}, 5}};
  EXPECT_EQ(found(stage, stage.bid(5, {1})), expected);
}

TEST(HadarGangs, ThreeGpusOnTwoFastAndOneSlowRunAtTheSlowOnesPace) {
  HadarStage stage("1xV100:2,1xK80:1");
  const Found expected = {{{{n0, 2}, {n1, 1}}, 3}};
  EXPECT_EQ(found(stage, stage.bid(3, {4, 1})), expected);
}

TEST(HadarGangs, WithoutMixesOnlyAGangLargerThanEveryTypeMixes) {
  HadarStage stage("1xV100:2,1xK80:2");
  const Slice taken[] = {{n0, 1}};
  stage.free.take(stage.cluster, taken);
  EXPECT_EQ(found(stage, stage.bid(3, {4, 1}), false).size(), 1U);
  const Slice more[] = {{n1, 1}};
  stage.free.take(stage.cluster, more);
  EXPECT_EQ(found(stage, stage.bid(2, {4, 1}), false).size(), 0U);
  EXPECT_EQ(found(stage, stage.bid(2, {4, 1}), true).size(), 1U);
}

TEST(HadarGangs, AMixTakesTheTypesWhoseSlowestIsFastestAndLeavesTheOthers) {
  HadarStage stage("1xV100:1,1xP100:1,1xK80:1");
  const Found expected = {{{{n0, 1}, {n1, 1}}, 4}};
  EXPECT_EQ(found(stage, stage.bid(2, {4, 2, 1})), expected);
}

TEST(HadarGangs, AMixTakesAsMuchAsItCanOfItsCheapestType) {
  HadarStage stage("1xV100:3,1xK80:3");
  const std::vector<HadarPrices::Range> ranges = {{.idle = 2, .full = 8}, {.idle = 1, .full = 2}};
  const std::vector<std::uint32_t> capacity = {3, 3};
  stage.prices.set(ranges, capacity);
  const Found expected = {{{{n0, 1}, {n1, 3}}, 4}};
  EXPECT_EQ(found(stage, stage.bid(4, {4, 1})), expected);
}

TEST(HadarGangs, AMixWithinOneHostNeedsNoNetwork) {
  std::vector<NodeSpec> nodes(3, {.gpu_type = "K80", .gpus = 1, .host = "a"});
  nodes[0].gpu_type = "V100";
  nodes[1].host = "b";
  HadarStage stage(*build_cluster("two", {}, nodes));
  const Found all = found(stage, stage.bid(2, {4, 2}, 0.5));
  const Found::value_type in_host = {{{n0, 1}, {n2, 1}}, 4};
  EXPECT_EQ(std::ranges::count(all, in_host), 1);
}

TEST(HadarGangs, ThePresentGangIsOfferedAtItsOwnWorthIfItIsFree) {
  HadarStage stage("2xV100:2");
  HadarBid& bid = stage.bid(1, {3});
  const Slice present[] = {{n1, 1}};
  bid.present = present;
  bid.present_worth = 3.5;
  const Found expected = {{{{n1, 1}}, 3.5}, {{{n0, 1}}, 3}};
  EXPECT_EQ(found(stage, bid), expected);
  const Slice all[] = {{n1, 2}};
  stage.free.take(stage.cluster, all);
  EXPECT_EQ(found(stage, bid).size(), 1U);
}

TEST(HadarGangs, TypesOnWhichAJobCannotRunAreNeverOffered) {
  HadarStage stage("1xV100:2,1xK80:4");
  EXPECT_EQ(found(stage, stage.bid(3, {1, 0})), Found());
}

TEST(HadarGangs, APayoffIsTheWorthLessThePriceOfEveryGpu) {
  HadarStage stage("1xV100:2");
  stage.set_prices(1, 4);
  HadarGangs gangs(stage.cluster, true);
  gangs.ask(stage.bid(2, {3}));
  EXPECT_DOUBLE_EQ(gangs.find(stage.rest(gangs))[0].payoff, 4);
  const Slice taken[] = {{n0, 1}};
  stage.free.take(stage.cluster, taken);
  gangs.ask(stage.bid(1, {3}));
  EXPECT_DOUBLE_EQ(gangs.find(stage.rest(gangs))[0].payoff, 1);
}

}  // namespace
}  // namespace fairlead
