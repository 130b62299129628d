#include "fairlead/pods/pod_needs.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace fairlead {
namespace {

std::string refusal(const char* spec) {
  const auto needs = parse_pod_needs(*parsed_json(spec));
  return needs ? "" : needs.error().message;
}

TEST(PodNeeds, WhatIsNotLookedAtIsRefusedByName) {
  const std::initializer_list<std::pair<const char*, const char*>> cases = {
      {R"({"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{}]}}})",
       "podAffinity"},
      {R"({"affinity": {"podAntiAffinity":
          {"requiredDuringSchedulingIgnoredDuringExecution": [{}]}}})",
       "podAntiAffinity"},
      {R"({"topologySpreadConstraints": [{"maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}]})",
       "topologySpreadConstraint"},
      {R"({"resourceClaims": [{"name": "gpu"}]})", "resourceClaims"},
      {R"({"nodeName": "n1"})", "nodeName"}};
  for (const auto& [spec, word] : cases) {
    EXPECT_NE(refusal(spec).find(word), std::string::npos) << spec << ": " << refusal(spec);
  }
}

TEST(PodNeeds, AProbeThatAFrozenPodFailsIsRefusedBesideSlots) {
  const auto spec = [](const char* resource) {
    return std::string(R"({"containers": [{"livenessProbe": {"httpGet": {"port": 80}},
        "resources": {"limits": {")") +
           resource + R"(": 1}}}]})";
  };
  EXPECT_EQ(refusal(spec("fairlead.dev/gpu-slot").c_str()),
            "its pods have a livenessProbe, which fails while they are frozen");
  EXPECT_EQ(refusal(spec("nvidia.com/gpu").c_str()), "");
}

TEST(PodNeeds, PreferencesAreNoNeeds) {
  EXPECT_EQ(refusal(R"({"affinity": {
      "podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{}]},
      "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": []}},
      "topologySpreadConstraints": [{"whenUnsatisfiable": "ScheduleAnyway"}],
      "volumes": [{"name": "v", "emptyDir": {}}]})"),
            "");
}

TEST(PodNeeds, ATaintOfTheNameOfAResourceIsForPodsThatAskForIt) {
  const auto needs = parse_pod_needs(
      *parsed_json(R"({"containers": [{"resources": {"limits": {"nvidia.com/gpu": 8}}}]})"));
  ASSERT_TRUE(needs);
  Node node{.name = "n1", .allocatable = {{"pods", 1000}}};
  node.taints = {{"nvidia.com/gpu", "present", "NoSchedule"}};
  EXPECT_EQ(obstacle(*needs, node), "");
  node.taints[0].effect = "NoExecute";
  EXPECT_NE(obstacle(*needs, node), "");
}

TEST(PodNeeds, ANodeThatIsTooSmallForOnePodWillNotDo) {
  const auto needs = parse_pod_needs(*parsed_json(
      R"({"containers": [{"resources": {"requests": {"memory": "2Ti", "nvidia.com/gpu": 8}}}]})"));
  ASSERT_TRUE(needs);
  Node node{.name = "n1", .allocatable = {{"memory", *parse_quantity("1Ti")}, {"pods", 1000}}};
  EXPECT_EQ(obstacle(*needs, node), "with too little memory");
  node.allocatable["memory"] = *parse_quantity("2Ti");
  EXPECT_EQ(obstacle(*needs, node), "") << "GPUs that it has not are for the engine to see";
}

}  // namespace
}  // namespace fairlead
