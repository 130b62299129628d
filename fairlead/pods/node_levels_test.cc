#include "fairlead/pods/node_levels.h"

#include "fairlead/kube/fake_objects.h"
#include "fairlead/model/levels.h"
#include "fairlead/pods/testing_scheduler.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>

namespace fairlead {
namespace {

Node node_with(std::map<std::string, std::string, std::less<>> labels) {
  return {.name = "n", .labels = std::move(labels)};
}

NodeLevels three_levels() { return *NodeLevels::of_levels({"zone", "block", "rack"}); }

TEST(NodeLevels, TheRackIsAPathOfAllLabels) {
  EXPECT_EQ(three_levels().rack_of(node_with({{"zone", "z"}, {"rack", "r"}, {"block", "b"}})),
            "z/b/r");
  EXPECT_EQ(three_levels().rack_of(node_with({{"rack", "r"}})), "-/-/r");
  const NodeLevels racks = NodeLevels::of_racks({"rack", "zone"});
  EXPECT_EQ(racks.rack_of(node_with({{"zone", "z"}, {"rack", "r"}})), "r");
  EXPECT_EQ(racks.rack_of(node_with({{"zone", "z"}})), "z");
  EXPECT_EQ(racks.rack_of(node_with({})), "");
}

TEST(NodeLevels, LabelsNameLevelsFromTheHostOutwards) {
  const NodeLevels levels = three_levels();
  EXPECT_EQ(levels.level_of(kHostname), kHostLevel);
  EXPECT_EQ(levels.level_of("rack"), kRackLevel);
  EXPECT_EQ(levels.level_of("zone"), kRackLevel + 2);
  EXPECT_EQ(levels.level_of("row"), std::nullopt);
  EXPECT_EQ(NodeLevels().level_of("topology.kubernetes.io/rack"), kRackLevel);
  EXPECT_FALSE(NodeLevels::of_levels(std::vector<std::string>(15, "x")));
}

TEST(NodeLevels, TheClusterHasTheLevelsAsSwitches) {
  const std::vector<NodeSpec> nodes = {{.name = "a", .gpu_type = "V", .gpus = 1, .rack = "z/b/r"},
                                       {.name = "b", .gpu_type = "V", .gpus = 1, .rack = "-/-/-"},
                                       {.name = "c", .gpu_type = "V", .gpus = 1, .rack = "z/b/s"}};
  const auto cluster = build_cluster("c", {}, nodes, three_levels().fabric_of(nodes));
  ASSERT_TRUE(cluster) << cluster.error().message;
  EXPECT_EQ(cluster->levels, (std::vector<std::string>{"rack", "block", "zone"}));
  EXPECT_EQ(cluster->racks.size(), 3U);
  EXPECT_EQ(cluster->switches.size(), 4U);
}

// Two blocks of two racks of two nodes.
class LevelsTest : public testing::Test {
 protected:
  void SetUp() override {
    for (int i = 0; i < 8; ++i) {
      server_.add_node({.name = fmt::format("n{}", i),
                        .gpus = 4,
                        .labels = {{"block", i < 4 ? "a" : "b"},
                                   {"rack", fmt::format("r{}", i / 2)},
                                   {"node", fmt::format("n{}", i)}}});
    }
  }
  // Returns the values of a label of the nodes where the Job's pods are.
  std::set<std::string> places(const std::string& job, const std::string& label) {
    std::set<std::string> values;
    const FakeAnswer list = server_.act("GET", "/api/v1/pods");
    for (const Json& pod : json_at(list.body, {"items"})) {
      const std::string& node = text_at(pod, {"spec", "nodeName"});
      if (!text_at(pod, {"metadata", "name"}).starts_with(job + "-") || node.empty()) continue;
      const FakeAnswer at = server_.act("GET", "/api/v1/nodes/" + node);
      values.insert(text_at(at.body, {"metadata", "labels", label}));
    }
    return values;
  }
  PodsOptions options() const { return {.levels = *NodeLevels::of_levels({"block", "rack"})}; }

  FakeServer server_{1};
};

TEST_F(LevelsTest, AGangIsWithinTheLevelThatItRequires) {
  server_.add_job({.name_space = "lab", .name = "one", .gpus = 4});
  Scheduler live(server_, "fifo:skip=true", "", options());
  live.run_for(seconds(30));
  const std::set<std::string> taken = places("one", "block");
  server_.add_job({.name_space = "lab",
                   .name = "block",
                   .pods = 4,
                   .gpus = 3,
                   .pod_annotations = {{std::string(kKueueRequired), "block"}}});
  server_.add_job({.name_space = "lab",
                   .name = "rack",
                   .pods = 2,
                   .gpus = 3,
                   .annotations = {{std::string(kRequiredLevel), "rack"}}});
  server_.add_job({.name_space = "lab",
                   .name = "near",
                   .pods = 3,
                   .gpus = 1,
                   .annotations = {{std::string(kRequiredLevel), std::string(kHostname)}}});
  live.run_for(seconds(30));
  EXPECT_EQ(places("block", "block").size(), 1U);
  EXPECT_NE(places("block", "block"), taken);
  EXPECT_EQ(places("rack", "rack").size(), 1U);
  EXPECT_EQ(places("near", "node").size(), 1U);
}

TEST_F(LevelsTest, AGangThatAsksForAnUnknownLevelIsRefused) {
  server_.add_job({.name_space = "lab",
                   .name = "train",
                   .pod_annotations = {{std::string(kKueuePreferred), "row"}}});
  Scheduler live(server_, "fifo:skip=true", "", options());
  live.run_for(seconds(30));
  EXPECT_EQ(live.world().refused().at("lab/train"),
            "nodes have no level row, see fairlead serve --levels");
}

TEST_F(LevelsTest, ALaterSchedulerFindsGangsWithinTheirLevels) {
  server_.add_job({.name_space = "lab",
                   .name = "train",
                   .pods = 2,
                   .gpus = 4,
                   .annotations = {{std::string(kRequiredLevel), "rack"}}});
  {
    Scheduler first(server_, "fifo:skip=true", "", options());
    first.run_for(seconds(30));
  }
  const std::set<std::string> before = places("train", "rack");
  Scheduler live(server_, "fifo:skip=true", "", options());
  live.run_for(seconds(30));
  EXPECT_EQ(before.size(), 1U);
  EXPECT_EQ(places("train", "rack"), before);
  EXPECT_EQ(live.state("lab/train"), JobState::kRunning);
}

}  // namespace
}  // namespace fairlead
