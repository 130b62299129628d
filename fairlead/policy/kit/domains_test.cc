#include "fairlead/policy/kit/domains.h"

#include "fairlead/model/cluster_build.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace fairlead {
namespace {

// Three racks of two nodes; the second has a node of another type.
Cluster three_racks() {
  std::vector<NodeSpec> specs;
  for (int i = 0; i < 6; ++i) {
    NodeSpec spec;
    spec.gpu_type = i == 3 ? "P100" : "V100";
    spec.gpus = 4;
    spec.rack = fmt::format("r{}", i / 2);
    specs.push_back(spec);
  }
  return build_cluster("test", {}, specs).value();
}

std::string ranges(const Cluster& cluster, Tier tier) {
  std::string text;
  for (NodeRange range : Domains(cluster, tier)) {
    text += fmt::format("{}-{} ", range.begin, range.end);
  }
  return text;
}

TEST(Domains, AreNodesRacksOrEverything) {
  const Cluster cluster = three_racks();
  EXPECT_EQ(ranges(cluster, Tier::kPair), "0-1 1-2 2-3 3-4 4-5 5-6 ");
  EXPECT_EQ(ranges(cluster, Tier::kNode), "0-1 1-2 2-3 3-4 4-5 5-6 ");
  EXPECT_EQ(ranges(cluster, Tier::kRack), "0-2 2-4 4-6 ");
  EXPECT_EQ(ranges(cluster, Tier::kSpine), "0-6 ");
}

TEST(Domains, CountOnlyTheTypesAskedFor) {
  const Cluster cluster = three_racks();
  const auto all = [&](NodeId node) { return cluster.node_gpus[node]; };
  const TypeMask v100 = type_bit(cluster.type_named("V100"));
  const TypeMask p100 = type_bit(cluster.type_named("P100"));
  EXPECT_EQ(gpus_in(cluster, {0, 6}, v100, all), 20U);
  EXPECT_EQ(gpus_in(cluster, {2, 4}, v100 | p100, all), 8U);
  EXPECT_EQ(most_in_domain(cluster, Tier::kRack, v100, all), 8U);
  EXPECT_EQ(most_in_domain(cluster, Tier::kRack, p100, all), 4U);
  EXPECT_EQ(most_in_domain(cluster, Tier::kNode, v100, all), 4U);
}

TEST(Domains, TheTightestIsTheFirstOfThoseWithTheFewestThatAreEnough) {
  const Cluster cluster = three_racks();
  const std::vector<std::uint32_t> free = {4, 3, 2, 4, 1, 4};
  const auto on = [&](NodeId node) { return free[node.row()]; };
  const auto first_node = [&](std::uint32_t gpus, TypeMask types) -> int {
    const auto rack = tightest_domain(cluster, Tier::kRack, types, gpus, on);
    return rack ? static_cast<int>(rack->begin) : -1;
  };
  const TypeMask v100 = type_bit(cluster.type_named("V100"));
  EXPECT_EQ(first_node(2, v100), 2);
  EXPECT_EQ(first_node(3, v100), 4);
  EXPECT_EQ(first_node(6, v100), 0);
  EXPECT_EQ(first_node(8, v100), -1);
  EXPECT_EQ(first_node(1, kAllTypes), 4) << "5 are free there, 6 and 7 elsewhere";
}

}  // namespace
}  // namespace fairlead
