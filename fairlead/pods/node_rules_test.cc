#include "fairlead/pods/node_rules.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace fairlead {
namespace {

NodeRules rules_of(const std::string& spec) {
  auto rules = parse_node_rules(*parsed_json(spec));
  EXPECT_TRUE(rules) << spec;
  return *rules;
}

NodeRules with_terms(const std::string& terms) {
  return rules_of(fmt::format(
      R"({{"affinity": {{"nodeAffinity": {{"requiredDuringSchedulingIgnoredDuringExecution":
          {{"nodeSelectorTerms": {}}}}}}}}})",
      terms));
}

bool admits(const NodeRules& rules, const Node& node) { return obstacle(rules, node).empty(); }

Node node_with(std::map<std::string, std::string, std::less<>> labels) {
  return {.name = "n1", .labels = std::move(labels)};
}

TEST(NodeRules, ANodeSelectorNamesAllLabelsOfANode) {
  const NodeRules rules = rules_of(R"({"nodeSelector": {"pool": "a", "disk": "ssd"}})");
  EXPECT_TRUE(admits(rules, node_with({{"pool", "a"}, {"disk", "ssd"}, {"more", ""}})));
  EXPECT_EQ(obstacle(rules, node_with({{"pool", "b"}, {"disk", "ssd"}})), "without label pool=a");
  EXPECT_FALSE(admits(rules, node_with({{"pool", "a"}})));
}

TEST(NodeRules, OfTwoKindsOfPodsMatchWhereThoseOfEachDo) {
  NodeRules one = with_terms(R"([{"matchExpressions": [{"key": "zone", "operator": "Exists"}]}])");
  one.tolerations = {{.key = "dedicated", .is_any_value = true, .effect = ""}};
  NodeRules other = with_terms(R"([{"matchExpressions": [{"key": "disk", "operator": "Exists"}]},
                                   {"matchExpressions": [{"key": "fast", "operator": "Exists"}]}])");
  other.selector = rules_of(R"({"nodeSelector": {"pool": "a"}})").selector;
  const NodeRules rules = both(one, other);
  EXPECT_TRUE(admits(rules, node_with({{"pool", "a"}, {"zone", "z"}, {"disk", "ssd"}})));
  EXPECT_TRUE(admits(rules, node_with({{"pool", "a"}, {"zone", "z"}, {"fast", ""}})));
  EXPECT_FALSE(admits(rules, node_with({{"pool", "a"}, {"zone", "z"}})));
  EXPECT_FALSE(admits(rules, node_with({{"zone", "z"}, {"disk", "ssd"}})));
  Node tainted = node_with({{"pool", "a"}, {"zone", "z"}, {"disk", "ssd"}});
  tainted.taints = {{"dedicated", "", "NoSchedule"}};
  EXPECT_FALSE(admits(rules, tainted)) << "one of them does not tolerate it";
  EXPECT_EQ(both(one, one), one);
}

TEST(NodeRules, EachOperatorIsThatOfKubernetes) {
  struct Case {
    const char* kind;
    const char* values;
    const char* label;  // label of the node; null: it has none
    bool admits;
  };
  for (const Case& c : std::initializer_list<Case>{{"In", R"(["a", "b"])", "b", true},
                                                   {"In", R"(["a", "b"])", "c", false},
                                                   {"In", R"(["a"])", nullptr, false},
                                                   {"NotIn", R"(["a"])", "b", true},
                                                   {"NotIn", R"(["a"])", "a", false},
                                                   {"NotIn", R"(["a"])", nullptr, true},
                                                   {"Exists", "[]", "", true},
                                                   {"Exists", "[]", nullptr, false},
                                                   {"DoesNotExist", "[]", "a", false},
                                                   {"DoesNotExist", "[]", nullptr, true},
                                                   {"Gt", R"(["8"])", "9", true},
                                                   {"Gt", R"(["8"])", "8", false},
                                                   {"Gt", R"(["8"])", "10", true},
                                                   {"Gt", R"(["8"])", "nine", false},
                                                   {"Gt", R"(["8"])", nullptr, false},
                                                   {"Lt", R"(["8"])", "7", true},
                                                   {"Lt", R"(["8"])", "8", false},
                                                   {"Lt", R"(["8"])", nullptr, false}}) {
    const NodeRules rules = with_terms(
        fmt::format(R"([{{"matchExpressions": [{{"key": "k", "operator": "{}", "values": {}}}]}}])",
                    c.kind, c.values));
    const Node node = c.label == nullptr ? node_with({}) : node_with({{"k", c.label}});
    EXPECT_EQ(admits(rules, node), c.admits)
        << c.kind << " " << c.values << " of " << (c.label == nullptr ? "none" : c.label);
  }
}

TEST(NodeRules, OneTermMatchesAndAllOfIt) {
  const NodeRules rules = with_terms(R"([
      {"matchExpressions": [{"key": "a", "operator": "Exists"}, {"key": "b", "operator": "Exists"}]},
      {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}],
       "matchExpressions": [{"key": "c", "operator": "Exists"}]},
      {}])");
  EXPECT_TRUE(admits(rules, node_with({{"a", ""}, {"b", ""}})));
  EXPECT_TRUE(admits(rules, node_with({{"c", ""}})));
  EXPECT_FALSE(admits(rules, node_with({{"a", ""}}))) << "an empty term matches no node";
  EXPECT_EQ(obstacle(rules, node_with({{"b", ""}})), "that its node affinity leaves out");
  Node other = node_with({{"c", ""}});
  other.name = "n2";
  EXPECT_FALSE(admits(rules, other));
}

TEST(NodeRules, PreferencesKeepNoPodAway) {
  const NodeRules rules = rules_of(R"({"affinity": {"nodeAffinity": {
      "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "preference":
          {"matchExpressions": [{"key": "k", "operator": "Exists"}]}}]}}})");
  EXPECT_TRUE(admits(rules, node_with({})));
}

TEST(NodeRules, AnOperatorThatIsNotKnownIsAnError) {
  const auto rules = parse_node_rules(*parsed_json(R"({"affinity": {"nodeAffinity": {
      "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
          {"matchExpressions": [{"key": "k", "operator": "Near", "values": ["x"]}]}]}}}})"));
  ASSERT_FALSE(rules);
  EXPECT_NE(rules.error().message.find("Near"), std::string::npos);
}

TEST(NodeRules, ATaintKeepsAwayWhatDoesNotTolerateIt) {
  Node node = node_with({});
  node.taints = {{"dedicated", "vision", "NoSchedule"}};
  EXPECT_EQ(obstacle(NodeRules(), node), "with taint dedicated=vision:NoSchedule");
  struct Case {
    const char* toleration;
    bool admits;
  };
  for (const Case& c : std::initializer_list<Case>{
           {R"({"key": "dedicated", "value": "vision"})", true},
           {R"({"key": "dedicated", "operator": "Equal", "value": "vision"})", true},
           {R"({"key": "dedicated", "operator": "Equal", "value": "nlp"})", false},
           {R"({"key": "dedicated", "operator": "Exists"})", true},
           {R"({"operator": "Exists"})", true},
           {R"({"key": "other", "operator": "Exists"})", false},
           {R"({"key": "dedicated", "operator": "Exists", "effect": "NoSchedule"})", true},
           {R"({"key": "dedicated", "operator": "Exists", "effect": "NoExecute"})", false},
           {R"({"key": "dedicated", "operator": "Gt", "value": "3"})", false}}) {
    const NodeRules rules = rules_of(fmt::format(R"({{"tolerations": [{}]}})", c.toleration));
    EXPECT_EQ(admits(rules, node), c.admits) << c.toleration;
  }
}

TEST(Nodes, TaintsOfTheMomentCloseThemAndOthersAreTheirNature) {
  const Node node = parse_node(*parsed_json(R"({"metadata": {"name": "n1"}, "spec": {"taints": [
      {"key": "pool", "effect": "NoExecute"},
      {"key": "soft", "effect": "PreferNoSchedule"},
      {"key": "node.kubernetes.io/disk-pressure", "effect": "NoSchedule"}]}})"));
  EXPECT_EQ(node.taints, (std::vector<Taint>{{"pool", "", "NoExecute"}}));
  EXPECT_TRUE(node.is_cordoned);
  const Node away = parse_node(*parsed_json(R"({"metadata": {"name": "n1"}, "spec": {"taints": [
      {"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"}]}})"));
  EXPECT_TRUE(away.taints.empty());
  EXPECT_FALSE(away.is_cordoned);
}

TEST(Nodes, GpusThatAreBrokenAreCounted) {
  const Node node = parse_node(*parsed_json(
      R"({"status": {"capacity": {"nvidia.com/gpu": "8"}, "allocatable": {"nvidia.com/gpu": "7"}}})"));
  EXPECT_EQ(node.gpus, 7U);
  EXPECT_EQ(node.gpus_all, 8U);
}

TEST(GpuTypes, AreTheShortNamesOfProducts) {
  const std::initializer_list<std::pair<const char*, const char*>> cases = {
      {"", "GPU"},
      {"Tesla-K80", "K80"},
      {"Tesla-V100-SXM2-32GB", "V100"},
      {"Tesla-V100-SXM2-32GB-LS", "V100"},
      {"Tesla-T4", "T4"},
      {"Quadro-RTX-6000", "RTX6000"},
      {"NVIDIA-RTX-6000-Ada-Generation", "RTX6000Ada"},
      {"NVIDIA-RTX-A6000", "RTXA6000"},
      {"NVIDIA-GeForce-RTX-4090", "RTX4090"},
      {"NVIDIA-A10G", "A10G"},
      {"NVIDIA-L40S", "L40S"},
      {"NVIDIA-A100-SXM4-80GB", "A100"},
      {"NVIDIA-A100-SXM4-80GB-MIG-1g.10gb", "A100-1g.10gb"},
      {"NVIDIA-H100-80GB-HBM3", "H100"},
      {"NVIDIA-H100-NVL", "H100"},
      {"NVIDIA-H200", "H200"},
      {"NVIDIA-GH200-480GB", "GH200"},
      {"NVIDIA-B200", "B200"}};
  for (const auto& [product, type] : cases) EXPECT_EQ(gpu_type_of(product), type) << product;
}

}  // namespace
}  // namespace fairlead
