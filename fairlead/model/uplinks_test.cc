#include "fairlead/model/uplinks.h"

#include "fairlead/model/cluster_build.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace fairlead {
namespace {

// Two racks of three hosts of 4 GPUs; hosts have 100 Gbit/s, racks 300 / 4.
Cluster two_racks(double oversubscription = 4) {
  std::vector<NodeSpec> nodes;
  for (const char* rack : {"a", "a", "a", "b", "b", "b"}) {
    nodes.push_back({.name = "", .gpu_type = "A", .gpus = 4, .host = "", .rack = rack});
  }
  Links links{.rack_gbps = 100, .spine_gbps = 75};
  links.oversubscription = oversubscription;
  return build_cluster("racks", links, nodes).value();
}

std::vector<Slice> on(std::vector<std::uint32_t> nodes) {
  std::vector<Slice> gang;
  gang.reserve(nodes.size());
  for (std::uint32_t node : nodes) gang.push_back({NodeId(node), 2, 0});
  return gang;
}

// Half of an iteration is the exchange, at that bandwidth: 80 ms.
Iteration exchange_of(double gbps) {
  return {.compute_ms = 80, .traffic_mb = gbps * 10, .gbps = gbps};
}

TEST(Uplinks, AGangAloneHasItsSpeed) {
  const Cluster cluster = two_racks();
  const Fabric fabric(cluster);
  Uplinks uplinks(cluster, fabric);
  EXPECT_DOUBLE_EQ(uplinks.speed_at(exchange_of(100), on({0, 1})), 1);
  EXPECT_DOUBLE_EQ(uplinks.speed_at(exchange_of(75), on({0, 3})), 1);
  EXPECT_DOUBLE_EQ(uplinks.loss_of_others(on({0, 3})), 0);
}

TEST(Uplinks, GangsThatCrossALinkHaveEqualPartsOfIt) {
  const Cluster cluster = two_racks();
  const Fabric fabric(cluster);
  Uplinks uplinks(cluster, fabric);
  uplinks.add(JobId(0), exchange_of(75), on({0, 3}));
  // At half of the bandwidth an exchange takes 160 ms, and 240 ms instead of 160 are 2/3.
  EXPECT_DOUBLE_EQ(uplinks.speed_at(exchange_of(75), on({1, 4})), 2.0 / 3);
  EXPECT_DOUBLE_EQ(uplinks.loss_of_others(on({1, 4})), 4 * (1 - 2.0 / 3));
  EXPECT_DOUBLE_EQ(uplinks.speed(JobId(0)), 1) << "to ask changes nothing";
  uplinks.add(JobId(1), exchange_of(75), on({1, 4}));
  EXPECT_DOUBLE_EQ(uplinks.speed(JobId(0)), 2.0 / 3);
  uplinks.remove(JobId(1));
  EXPECT_DOUBLE_EQ(uplinks.speed(JobId(0)), 1);
}

TEST(Uplinks, OnlyGangsOnTheSameLinksMeet) {
  const Cluster cluster = two_racks();
  const Fabric fabric(cluster);
  Uplinks uplinks(cluster, fabric);
  uplinks.add(JobId(0), exchange_of(100), on({0, 1}));
  EXPECT_DOUBLE_EQ(uplinks.speed_at(exchange_of(100), on({3, 4})), 1);
  EXPECT_LT(uplinks.speed_at(exchange_of(100), on({1, 2})), 1) << "host 1 has one uplink";
  EXPECT_DOUBLE_EQ(uplinks.speed_at(exchange_of(75), on({2, 3})), 1) << "it leaves its rack";
}

TEST(Uplinks, WhatAGangCannotUseDoesNotSlowItDown) {
  const Cluster cluster = two_racks(1);  // 300 Gbit/s
  const Fabric fabric(cluster);
  Uplinks uplinks(cluster, fabric);
  uplinks.add(JobId(0), exchange_of(100), on({0, 3}));
  EXPECT_DOUBLE_EQ(uplinks.speed_at(exchange_of(100), on({1, 4})), 1);
  EXPECT_DOUBLE_EQ(uplinks.loss_of_others(on({1, 4})), 0);
}

TEST(Uplinks, AGangOfOneHostOrThatSendsNothingCrossesNoLink) {
  const Cluster cluster = two_racks();
  const Fabric fabric(cluster);
  Uplinks uplinks(cluster, fabric);
  uplinks.add(JobId(0), exchange_of(1200), on({0}));
  uplinks.add(JobId(1), {.compute_ms = 80, .gbps = 75}, on({0, 3}));
  EXPECT_FALSE(uplinks.has(JobId(0)));
  EXPECT_FALSE(uplinks.has(JobId(1)));
  EXPECT_DOUBLE_EQ(uplinks.speed_at(exchange_of(75), on({0, 3})), 1);
}

TEST(Uplinks, ClearForgetsAllGangsAndRowsAreUsedAgain) {
  const Cluster cluster = two_racks();
  const Fabric fabric(cluster);
  Uplinks uplinks(cluster, fabric);
  uplinks.add(JobId(0), exchange_of(75), on({0, 3}));
  uplinks.add(JobId(1), exchange_of(75), on({1, 4}));
  uplinks.clear();
  EXPECT_FALSE(uplinks.has(JobId(0)));
  EXPECT_DOUBLE_EQ(uplinks.speed_at(exchange_of(75), on({0, 3})), 1);
  uplinks.add(JobId(1), exchange_of(75), on({0, 3}));
  EXPECT_DOUBLE_EQ(uplinks.speed_at(exchange_of(75), on({0, 3})), 2.0 / 3);
}

}  // namespace
}  // namespace fairlead
