#include "fairlead/sim/faults.h"

#include "fairlead/model/cluster_build.h"

#include <gtest/gtest.h>

#include <vector>

namespace fairlead {
namespace {

Cluster one_node() {
  return build_cluster("one", {},
                       {{.name = "", .gpu_type = "V100", .gpus = 1, .host = "", .rack = ""}})
      .value();
}

TEST(Faults, ComeAndGoAfterTheirMeanTimes) {
  Faults faults(one_node(), {.mtbf_h = 9, .mttr_h = 1}, 1);
  Duration up;
  Duration down;
  Time before;
  for (int i = 0; i < 4'000; ++i) {
    const Time t = faults.next();
    Duration& state = faults.pop().front().up ? down : up;
    state.ms += (t - before).ms;
    before = t;
  }
  EXPECT_NEAR(to_seconds(up) / 3600 / 2'000, 9, 0.9);
  EXPECT_NEAR(to_seconds(down) / 3600 / 2'000, 1, 0.1);
}

TEST(Faults, OfAListAreNoOthers) {
  Faults faults(one_node(), {.mtbf_h = 9, .mttr_h = 1, .outages = {{NodeId(0), {5}, {9}}}}, 1);
  EXPECT_EQ(faults.next(), Time{5});
  EXPECT_FALSE(faults.pop().front().up);
  EXPECT_EQ(faults.next(), Time{9});
  EXPECT_TRUE(faults.pop().front().up);
  EXPECT_EQ(faults.next(), Time::never());
}

TEST(FaultsDeathTest, TakesTheOutagesOfANodeInOrderAndApart) {
  const Cluster cluster = one_node();
  const auto make = [&](std::vector<NodeOutage> outages) {
    return Faults(cluster, {.outages = std::move(outages)}, 1);
  };
  EXPECT_EQ(make({{NodeId(0), {5}, {9}}, {NodeId(0), {9}, {12}}}).next(), Time{5});
  EXPECT_DEATH(make({{NodeId(0), {5}, {9}}, {NodeId(0), {8}, {12}}}), "to fail while it is down");
  EXPECT_DEATH(make({{NodeId(0), {9}, {5}}}), "an outage of node 0 from 9 ms to 5 ms");
  EXPECT_DEATH(make({{NodeId(1), {5}, {9}}}), "an outage of node 1");
}

Cluster two_racks() {
  std::vector<NodeSpec> nodes;
  for (int i = 0; i < 4; ++i) {
    nodes.push_back(
        {.name = "", .gpu_type = "V100", .gpus = 4, .host = "", .rack = i < 2 ? "left" : "right"});
  }
  return build_cluster("two racks", {}, nodes).value();
}

TEST(Faults, TheNodesOfARackFailAndComeBackTogether) {
  Faults faults(two_racks(), {.rack_mtbf_h = 9, .mttr_h = 1}, 1);
  IdVector<NodeId, bool> is_down(4, false);
  Duration down;
  Time before;
  for (int i = 0; i < 4'000; ++i) {
    const Time t = faults.next();
    if (is_down[NodeId(0)]) down += t - before;
    before = t;
    const std::vector<Faults::Change>& changes = faults.pop();
    ASSERT_EQ(changes.size(), 2U);
    for (const Faults::Change& change : changes) {
      EXPECT_EQ(change.gpus, kAllGpus);
      EXPECT_EQ(change.up, is_down[change.node]);
      is_down[change.node] = !change.up;
    }
    ASSERT_EQ(is_down[NodeId(0)], is_down[NodeId(1)]);
    ASSERT_EQ(is_down[NodeId(2)], is_down[NodeId(3)]);
    ASSERT_EQ(faults.all_up(), !is_down[NodeId(0)] && !is_down[NodeId(2)]);
  }
  EXPECT_NEAR(to_seconds(down) / (to_seconds(before - Time{})), 0.1, 0.02);
}

// Whatever keeps it down, a node changes from up to down and back by turns.
TEST(Faults, OfANodeAndItsRackAddUp) {
  Faults faults(two_racks(), {.mtbf_h = 2, .rack_mtbf_h = 3, .mttr_h = 1}, 1);
  IdVector<NodeId, bool> is_down(4, false);
  int hidden = 0;
  for (int i = 0; i < 4'000; ++i) {
    const std::vector<Faults::Change>& changes = faults.pop();
    hidden += changes.empty() ? 1 : 0;
    for (const Faults::Change& change : changes) {
      ASSERT_EQ(change.up, is_down[change.node]);
      is_down[change.node] = !change.up;
    }
  }
  EXPECT_GT(hidden, 100);
}

TEST(Faults, OfAListMayTakeSomeGpus) {
  Faults faults(two_racks(),
                {.outages = {{NodeId(1), {5}, {20}, 0b0011}, {NodeId(1), {9}, {20}, 0b1100}}}, 1);
  EXPECT_EQ(faults.next(), Time{5});
  EXPECT_EQ(faults.pop().front().gpus, 0b0011U);
  EXPECT_EQ(faults.pop().front().gpus, 0b1100U);
  EXPECT_EQ(faults.next(), Time{20});
  EXPECT_EQ(faults.pop().front().gpus, kAllGpus);
  EXPECT_TRUE(faults.all_up());
}

}  // namespace
}  // namespace fairlead
