#include "fairlead/pods/inventory.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace fairlead {
namespace {

class InventoryTest : public testing::Test {
 protected:
  void add(const std::string& name, std::map<std::string, std::string, std::less<>> labels = {},
           const std::string& product = "NVIDIA-H100-80GB-HBM3") {
    nodes_[name] = {.name = name,
                    .product = product,
                    .gpus = 8,
                    .gpus_all = 8,
                    .labels = std::move(labels),
                    .allocatable = {{"memory", 1000}, {"pods", 110'000}}};
  }
  static PodNeeds wants(const std::string& key, const std::string& value) {
    return {.rules = {.selector = {{key, LabelRule::Kind::kIn, {value}}}}, .requests = {}};
  }
  Inventory inventory(const std::set<PodNeeds>& asked = {}) {
    return {nodes_, asked, NodeLevels()};
  }
  static std::string types_of(const Inventory& inventory) {
    std::string text;
    for (const NodeSpec& spec : inventory.specs()) {
      text += fmt::format("{}{}:{}", text.empty() ? "" : " ", spec.name, spec.gpu_type);
    }
    return text;
  }
  using Names = std::set<std::string>;

  Inventory::Nodes nodes_;
};

TEST_F(InventoryTest, NodesThatNoGangTellsApartAreOfOneType) {
  add("a", {{"pool", "x"}});
  add("b", {{"pool", "y"}});
  nodes_["b"].taints = {{"dedicated", "", "NoSchedule"}};
  add("c", {}, "Tesla-V100-SXM2-32GB");
  nodes_["c"].taints = {{"dedicated", "", "NoSchedule"}};
  nodes_["cpu"] = {.name = "cpu"};
  EXPECT_EQ(types_of(inventory()), "a:H100 b:H100 c:V100");
}

TEST_F(InventoryTest, ALabelThatAGangAsksForMakesTypesNamedByIt) {
  add("a", {{"lab.example/pool", "x"}});
  add("b", {{"lab.example/pool", "y"}});
  add("c", {{"lab.example/pool", "x"}});
  const PodNeeds needs = wants("lab.example/pool", "x");
  Inventory made = inventory({needs});
  EXPECT_EQ(types_of(made), "a:H100/pool=x b:H100/pool=y c:H100/pool=x");
  EXPECT_EQ(made.kinds_for(needs), (Names{"H100/pool=x"}));
  EXPECT_EQ(made.kinds_for({}), (Names{"H100/pool=x", "H100/pool=y"}));
}

TEST_F(InventoryTest, NodesWithSlotsAreForPodsThatAskForSlotsAlone) {
  add("a", {{"pool", "x"}});
  add("b");
  nodes_["b"].slots_per_gpu = 2;
  nodes_["b"].allocatable["fairlead.dev/gpu-slot"] = 16'000;
  const PodNeeds slots{.rules = {}, .requests = {{"fairlead.dev/gpu-slot", 2000}}};
  Inventory made = inventory({slots, PodNeeds{}});
  EXPECT_EQ(types_of(made), "a:H100 b:H100-slot");
  EXPECT_EQ(made.kinds_for(slots), (Names{"H100-slot"}));
  EXPECT_EQ(made.kinds_for({}), (Names{"H100"}));
  nodes_["a"].slots_per_gpu = 2;
  EXPECT_FALSE(made.still_fit({slots, PodNeeds{}}));
}

TEST_F(InventoryTest, ATaintIsForThoseWhoTolerateIt) {
  add("a");
  add("b");
  nodes_["b"].taints = {{"dedicated", "vision", "NoSchedule"}};
  const PodNeeds tolerant{.rules = {.tolerations = {{.key = "dedicated", .is_any_value = true}}}};
  Inventory made = inventory({PodNeeds{}, tolerant});
  EXPECT_EQ(types_of(made), "a:H100 b:H100/dedicated=vision:NoSchedule");
  EXPECT_EQ(made.kinds_for({}), (Names{"H100"}));
  EXPECT_EQ(made.kinds_for(tolerant).size(), 2U);
}

TEST_F(InventoryTest, ANodeThatIsTooSmallForAPodIsOfAnotherType) {
  add("a");
  add("b");
  nodes_["b"].allocatable["memory"] = 500;
  const PodNeeds large{.rules = {}, .requests = {{"memory", 800}}};
  Inventory made = inventory({large});
  EXPECT_EQ(types_of(made), "a:H100 b:H100/2");
  EXPECT_EQ(made.kinds_for(large), (Names{"H100"}));
}

TEST_F(InventoryTest, WhatNoNodeHasIsRefusedWithACountOfReasons) {
  add("a", {{"pool", "x"}});
  add("b");
  add("c");
  nodes_["b"].taints = {{"dedicated", "", "NoSchedule"}};
  PodNeeds needs = wants("pool", "x");
  needs.requests["memory"] = 5000;
  Inventory made = inventory({needs});
  EXPECT_EQ(types_of(made), "a:H100 b:H100 c:H100") << "none of them will do";
  EXPECT_TRUE(made.kinds_for(needs).empty());
  EXPECT_EQ(made.why_none(needs),
            "none of 3 nodes with GPUs will do: 1 with too little memory, 2 without label pool=x");
}

TEST_F(InventoryTest, ThereAreNoMoreTypesThanAMaskHasBits) {
  std::set<PodNeeds> asked;
  for (int i = 0; i < 50; ++i) {
    add(fmt::format("n{}", i), {{"host", fmt::to_string(i)}});
    asked.insert(wants("host", fmt::to_string(i)));
  }
  Inventory made = inventory(asked);
  std::set<std::string> types;
  for (const NodeSpec& spec : made.specs()) types.insert(spec.gpu_type);
  EXPECT_EQ(types.size(), kGpuTypesMax);
  EXPECT_TRUE(build_cluster("c", {}, made.specs()));
  int refused = 0;
  for (const PodNeeds& needs : asked) refused += made.kinds_for(needs).empty() ? 1 : 0;
  EXPECT_EQ(refused, 50 - 31);
  EXPECT_TRUE(made.still_fit(asked)) << "another inventory would be the same";
}

TEST_F(InventoryTest, ItFitsAsLongAsTheSameTypesWouldDo) {
  add("a", {{"pool", "x"}});
  add("b", {{"pool", "y"}});
  const PodNeeds needs = wants("pool", "x");
  Inventory made = inventory({needs});
  (void)made.kinds_for(needs);
  EXPECT_TRUE(made.still_fit({needs}));
  EXPECT_TRUE(made.still_fit({})) << "fewer types would do, and nothing is wrong";
  nodes_["b"].labels["other"] = "z";
  EXPECT_TRUE(made.still_fit({needs}));
  nodes_.erase("b");
  EXPECT_TRUE(made.still_fit({needs})) << "its GPUs are gone, which the engine is told";
}

TEST_F(InventoryTest, ItNoLongerFitsWhereNodesOrGangsNeedOtherTypes) {
  add("a", {{"pool", "x"}, {"topology.kubernetes.io/zone", "z1"}});
  add("b", {{"pool", "y"}});
  const PodNeeds needs = wants("pool", "x");
  Inventory made = inventory({needs});
  (void)made.kinds_for(needs);
  const auto nodes = nodes_;
  const auto still_fit = [&](const std::set<PodNeeds>& asked) {
    const bool answer = made.still_fit(asked);
    nodes_ = nodes;
    return answer;
  };
  ASSERT_TRUE(still_fit({needs}));
  nodes_["b"].labels["pool"] = "x";
  EXPECT_FALSE(still_fit({needs})) << "it may be on b now";
  nodes_["a"].labels["pool"] = "y";
  EXPECT_FALSE(still_fit({needs})) << "and no longer on a";
  add("c");
  EXPECT_FALSE(still_fit({needs})) << "a node is new";
  nodes_["b"].gpus_all = 16;
  EXPECT_FALSE(still_fit({needs}));
  nodes_["b"].product = "NVIDIA-H200";
  EXPECT_FALSE(still_fit({needs}));
  nodes_["a"].labels["topology.kubernetes.io/zone"] = "z2";
  EXPECT_FALSE(still_fit({needs})) << "it is in another rack";
  nodes_["a"].taints = {{"dedicated", "", "NoSchedule"}};
  EXPECT_FALSE(still_fit({needs}));
  EXPECT_TRUE(still_fit({needs, wants("pool", "y")})) << "these types do for it too";
  add("c", {{"pool", "y"}, {"disk", "ssd"}});
  Inventory more = inventory({needs});
  EXPECT_TRUE(more.still_fit({needs}));
  EXPECT_FALSE(more.still_fit({needs, wants("disk", "ssd")}));
}

TEST_F(InventoryTest, TheFirstLabelOfTheListThatANodeHasIsItsRack) {
  add("a", {{"topology.kubernetes.io/zone", "z1"}});
  add("b", {{"topology.kubernetes.io/zone", "z1"}, {"network.topology.nvidia.com/leaf", "s7"}});
  add("c");
  const std::vector<NodeSpec> specs = inventory().specs();
  EXPECT_EQ(specs[0].rack, "z1");
  EXPECT_EQ(specs[1].rack, "s7");
  EXPECT_EQ(specs[2].rack, "");
}

}  // namespace
}  // namespace fairlead
