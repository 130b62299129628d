#include "fairlead/model/cluster.h"

#include "fairlead/base/result.h"
#include "fairlead/model/cluster_build.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

namespace fairlead {
namespace {

NodeSpec node(std::string type, std::uint32_t gpus, std::string rack = "", std::string host = "") {
  return {.name = "",
          .gpu_type = std::move(type),
          .gpus = gpus,
          .host = std::move(host),
          .rack = std::move(rack)};
}

std::string error_of(const std::vector<NodeSpec>& nodes) {
  const Result<Cluster> cluster = build_cluster("lab", Links{}, nodes);
  return cluster ? "no error" : cluster.error().message;
}

// Nodes 0, 1 share a host in rack a with node 2; nodes 3, 4 are rack b.
Cluster two_racks() {
  return *build_cluster("lab", Links{},
                        {node("V100", 2, "a", "mixed"), node("K80", 2, "a", "mixed"),
                         node("V100", 4, "a"), node("V100", 4, "b"), node("V100", 4, "b")});
}

Tier tier_of(const Cluster& cluster, std::vector<Slice> slices) {
  return cluster.tier_of(Gang(slices));
}

TEST(Cluster, NumbersNodesRackByRackInInputOrder) {
  const Cluster cluster = *build_cluster(
      "lab", Links{}, {node("V100", 1, "a"), node("K80", 2, "b"), node("P100", 3, "a")});
  EXPECT_EQ(cluster.node_gpus[NodeId(0)], 1);
  EXPECT_EQ(cluster.node_gpus[NodeId(1)], 3);
  EXPECT_EQ(cluster.node_gpus[NodeId(2)], 2);
  EXPECT_EQ(cluster.rack_nodes[RackId(0)].begin, 0U);
  EXPECT_EQ(cluster.rack_nodes[RackId(0)].end, 2U);
  EXPECT_EQ(cluster.rack_nodes[RackId(1)].begin, 2U);
  EXPECT_EQ(cluster.rack_nodes[RackId(1)].end, 3U);
  EXPECT_EQ(cluster.node_rack[NodeId(2)], RackId(1));
  EXPECT_EQ(cluster.node_names[NodeId(2)], "n2");
}

TEST(Cluster, AddsUpItsGpus) {
  const Cluster cluster = two_racks();
  EXPECT_EQ(cluster.gpus, 16U);
  EXPECT_EQ(cluster.type_gpus[cluster.type_named("V100")], 14U);
  EXPECT_EQ(cluster.type_gpus[cluster.type_named("K80")], 2U);
  EXPECT_EQ(cluster.node_gpus_max, 4U);
  EXPECT_EQ(cluster.hosts, 4U);
}

TEST(Cluster, FindsTypesIgnoringCase) {
  const Cluster cluster = two_racks();
  EXPECT_EQ(cluster.type_named("v100"), GpuTypeId(0));
  EXPECT_TRUE(cluster.type_named("A100").is_none());
  EXPECT_EQ(build_cluster("lab", Links{}, {node("V100", 1), node("v100", 1)})->type_names.size(),
            1U);
}

TEST(Cluster, TellsTheWidestLinkThatAGangNeeds) {
  const Cluster cluster = two_racks();
  EXPECT_EQ(tier_of(cluster, {{NodeId(2), 1}}), Tier::kPair);
  EXPECT_EQ(tier_of(cluster, {{NodeId(2), 2}}), Tier::kPair);
  EXPECT_EQ(tier_of(cluster, {{NodeId(2), 3}}), Tier::kNode);
  EXPECT_EQ(tier_of(cluster, {{NodeId(0), 1}, {NodeId(1), 1}}), Tier::kNode);
  EXPECT_EQ(tier_of(cluster, {{NodeId(0), 1}, {NodeId(2), 1}}), Tier::kRack);
  EXPECT_EQ(tier_of(cluster, {{NodeId(3), 4}, {NodeId(4), 4}}), Tier::kRack);
  EXPECT_EQ(tier_of(cluster, {{NodeId(0), 1}, {NodeId(2), 1}, {NodeId(4), 1}}), Tier::kSpine);
}

TEST(Cluster, TellsTheBestTierThatAnyGangOfASizeCanHave) {
  const Cluster cluster = two_racks();
  EXPECT_EQ(cluster.best_tier(1), Tier::kPair);
  EXPECT_EQ(cluster.best_tier(2), Tier::kPair);
  EXPECT_EQ(cluster.best_tier(4), Tier::kNode);
  EXPECT_EQ(cluster.best_tier(5), Tier::kRack);
  EXPECT_EQ(cluster.best_tier(8), Tier::kRack);
  EXPECT_EQ(cluster.best_tier(9), Tier::kSpine);
  EXPECT_EQ(cluster.best_tier(1000), Tier::kSpine);
}

TEST(Cluster, HasNoPairWhereEachNodeHasOneGpu) {
  const Cluster cluster = *build_cluster("lab", Links{}, {node("V100", 1), node("V100", 1)});
  EXPECT_EQ(cluster.best_tier(1), Tier::kPair);
  EXPECT_EQ(cluster.best_tier(2), Tier::kRack);
}

TEST(Cluster, RefusesWhatItCannotRepresent) {
  EXPECT_EQ(error_of({}), "cluster lab: no nodes");
  EXPECT_EQ(error_of({node("V100", 0)}), "cluster lab: node 0: no GPUs");
  EXPECT_EQ(error_of({node("V100", 1), node("", 1)}), "cluster lab: node 1: the GPU type is empty");
  EXPECT_EQ(error_of({node("V100", 65)}), "cluster lab: node 0: a node has at most 64 GPUs: 65");
  std::vector<NodeSpec> types;
  for (int i = 0; i < 33; ++i) types.push_back(node(fmt::format("T{}", i), 1));
  EXPECT_EQ(error_of(types), "cluster lab: at most 32 GPU types: 33");
  types.pop_back();
  EXPECT_EQ(error_of(types), "no error");
}

RC_GTEST_PROP(ClusterProperty, TheBestTierIsTheClosestWithRoomForTheGang, ()) {
  const auto sizes = *rc::gen::nonEmpty(
      rc::gen::container<std::vector<std::uint32_t>>(rc::gen::inRange<std::uint32_t>(1, 9)));
  std::vector<NodeSpec> nodes;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    nodes.push_back(node("V100", sizes[i], fmt::format("r{}", i % 3)));
  }
  const Cluster cluster = *build_cluster("lab", Links{}, nodes);
  const auto has_room = [&](Tier tier, std::uint32_t gpus) {
    if (tier == Tier::kPair && gpus > 2) return false;
    std::uint32_t most = 0;
    for (NodeId first : ids<NodeId>(cluster.nodes())) {
      std::uint32_t room = 0;
      for (NodeId other : ids<NodeId>(cluster.nodes())) {
        const bool is_near = tier == Tier::kRack
                                 ? cluster.node_rack[other] == cluster.node_rack[first]
                                 : cluster.node_host[other] == cluster.node_host[first];
        if (is_near) room += cluster.node_gpus[other];
      }
      most = std::max(most, room);
    }
    return gpus <= most;
  };
  for (std::uint32_t gpus = 1; gpus < cluster.gpus + 2; ++gpus) {
    Tier best = Tier::kPair;
    while (best != Tier::kSpine && !has_room(best, gpus)) {
      best = static_cast<Tier>(static_cast<int>(best) + 1);
    }
    RC_ASSERT(cluster.best_tier(gpus) == best);
  }
}

}  // namespace
}  // namespace fairlead
