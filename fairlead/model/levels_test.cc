#include "fairlead/model/levels.h"

#include "fairlead/model/cluster_build.h"
#include "fairlead/model/workload.h"

#include <gtest/gtest.h>

#include <vector>

namespace fairlead {
namespace {

using Nodes = std::vector<NodeSpec>;

// Two pods of two racks of two nodes of 4 GPUs; the first rack's nodes are one host.
Cluster two_pods() {
  Nodes nodes;
  for (const char* rack : {"a", "b", "c", "d"}) {
    for (int i = 0; i < 2; ++i) {
      nodes.push_back({.gpu_type = "V100",
                       .gpus = 4,
                       .host = std::string(rack) == "a" ? "domain" : "",
                       .rack = rack});
    }
  }
  FabricSpec fabric{.levels = {"rack", "pod"}};
  for (const char* pod : {"one", "two"}) fabric.switches.push_back({.name = pod});
  for (const char* rack : {"a", "b"}) fabric.switches.push_back({.name = rack, .parent = "one"});
  for (const char* rack : {"c", "d"}) fabric.switches.push_back({.name = rack, .parent = "two"});
  return build_cluster("pods", {}, nodes, fabric).value();
}

std::vector<std::uint32_t> ends(const Cluster& cluster, Level level) {
  std::vector<std::uint32_t> ends;
  for_each_section(cluster, level, [&](NodeRange section) { ends.push_back(section.end); });
  return ends;
}

TEST(Levels, AreHostsRacksAndWhatTheClusterCallsThoseAbove) {
  const Cluster cluster = two_pods();
  EXPECT_EQ(level_named(cluster, "host"), kHostLevel);
  EXPECT_EQ(level_named(cluster, "rack"), kRackLevel);
  EXPECT_EQ(level_named(cluster, "pod"), kRackLevel + 1);
  EXPECT_EQ(level_named(cluster, "zone"), std::nullopt);
  EXPECT_EQ(level_name(cluster, widest_level(cluster)), "pod");
}

TEST(Levels, DivideTheNodesIntoSections) {
  const Cluster cluster = two_pods();
  using Ends = std::vector<std::uint32_t>;
  EXPECT_EQ(ends(cluster, kHostLevel), (Ends{2, 3, 4, 5, 6, 7, 8}));
  EXPECT_EQ(ends(cluster, kRackLevel), (Ends{2, 4, 6, 8}));
  EXPECT_EQ(ends(cluster, kRackLevel + 1), (Ends{4, 8}));
  EXPECT_EQ(ends(cluster, kAnywhere), Ends{8});
}

TEST(Levels, AGangIsWithinALevelIfAllItsNodesAreInOneSection) {
  const Cluster cluster = two_pods();
  const std::vector<Slice> pod = {{NodeId(1), 4}, {NodeId(2), 4}};
  EXPECT_FALSE(within(cluster, kRackLevel, pod));
  EXPECT_TRUE(within(cluster, kRackLevel + 1, pod));
  const std::vector<Slice> pods = {{NodeId(3), 1}, {NodeId(4), 1}};
  EXPECT_FALSE(within(cluster, kRackLevel + 1, pods));
  EXPECT_TRUE(within(cluster, kAnywhere, pods));
  const std::vector<Slice> domain = {{NodeId(0), 4}, {NodeId(1), 4}};
  EXPECT_TRUE(within(cluster, kHostLevel, domain));
}

TEST(Levels, HaveRoomIfOneSectionHas) {
  const Cluster cluster = two_pods();
  EXPECT_TRUE(has_room_within(cluster, kRackLevel, kAllTypes, 8, 1));
  EXPECT_FALSE(has_room_within(cluster, kRackLevel, kAllTypes, 9, 1));
  EXPECT_TRUE(has_room_within(cluster, kRackLevel + 1, kAllTypes, 16, 1));
  EXPECT_FALSE(has_room_within(cluster, kRackLevel + 1, kAllTypes, 16, 3));
}

TEST(Levels, APreferenceAsWideAsTheRequirementSaysNothing) {
  const Cluster cluster = two_pods();
  WorkloadBuilder builder("trace", Reading::kStrict);
  const Duration second = seconds(1);
  ASSERT_TRUE(builder.add(
      {.id = "a", .duration = second, .require_level = "pod", .prefer_level = "rack"}, "t"));
  ASSERT_TRUE(builder.add(
      {.id = "b", .duration = second, .require_level = "host", .prefer_level = "pod"}, "t"));
  ASSERT_TRUE(builder.add({.id = "c", .duration = second}, "t"));
  Workload workload = builder.finish();
  ASSERT_TRUE(resolve_levels(cluster, workload));
  EXPECT_EQ(workload.jobs.closeness[JobId(0)], (Closeness{kRackLevel + 1, kRackLevel}));
  EXPECT_EQ(workload.jobs.closeness[JobId(1)], (Closeness{kHostLevel, kAnywhere}));
  EXPECT_EQ(workload.jobs.closeness[JobId(2)], Closeness());
}

TEST(Levels, ALevelThatTheClusterLacksIsAnErrorThatNamesThoseItHas) {
  const Cluster cluster = two_pods();
  WorkloadBuilder builder("trace", Reading::kStrict);
  ASSERT_TRUE(builder.add({.id = "a", .duration = seconds(1), .require_level = "zone"}, "t"));
  Workload workload = builder.finish();
  const Status status = resolve_levels(cluster, workload);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message,
            "job a: the cluster has no level zone (it has host, rack, pod)");
}

TEST(Levels, BothLevelsFitOneNumber) {
  for (const Closeness closeness :
       {Closeness{}, Closeness{3, 1}, Closeness{0, 2}, Closeness{15, 14}}) {
    EXPECT_EQ(Closeness::of_bits(closeness.bits()), closeness);
  }
}

}  // namespace
}  // namespace fairlead
