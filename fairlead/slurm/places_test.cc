#include "fairlead/slurm/places.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace fairlead {
namespace {

SlurmNode node(const char* name, const char* type, std::vector<std::string> partitions,
               std::vector<std::string> features) {
  return {{.name = name, .gpu_type = type, .gpus = 8}, std::move(partitions), std::move(features)};
}

// Two types in three partitions; only some A100 have nvlink, and each node a rack of its own, which no job names.
std::vector<SlurmNode> site() {
  return {node("a1", "a100", {"gpu", "long"}, {"nvlink", "rack1"}),
          node("a2", "a100", {"gpu"}, {"nvlink", "rack2"}), node("a3", "a100", {"gpu"}, {"rack3"}),
          node("v1", "v100", {"old"}, {"rack1"})};
}

std::string types(const SlurmPlaces& places) {
  std::string text;
  for (const NodeSpec& one : places.specs())
    text += fmt::format("{}{}:{}", text.empty() ? "" : " ", one.name, one.gpu_type);
  return text;
}

TEST(SlurmPlaces, NodesKeepTheirTypeIfNoJobKeepsThemApart) {
  const SlurmPlaces places(site(), {{"a100", "gpu", ""}, {"", "old", ""}});
  EXPECT_EQ(types(places), "a1:a100 a2:a100 a3:a100 v1:v100");
  EXPECT_EQ(places.runs_on({"a100", "gpu", ""}).types, "a100");
  EXPECT_EQ(places.runs_on({"", "old", ""}).types, "v100");
  EXPECT_EQ(places.runs_on({"", "", ""}).types, "");
}

TEST(SlurmPlaces, NodesThatAJobKeepsApartAreOfTypesOfTheirOwn) {
  const SlurmAsked link = {"", "gpu", "nvlink"};
  const SlurmAsked any = {"", "gpu,old", ""};
  const SlurmPlaces places(site(), {link, any, {"", "long", ""}});
  EXPECT_EQ(types(places), "a1:a100/long&nvlink a2:a100/nvlink a3:a100/other v1:v100");
  EXPECT_EQ(places.runs_on(link).types, "a100/long&nvlink+a100/nvlink");
  EXPECT_EQ(places.runs_on(any).types, "a100/long&nvlink+a100/nvlink+a100/other+v100");
  EXPECT_EQ(places.type_of("A100", "a100/nvlink"), "a100/nvlink");
  EXPECT_EQ(places.type_of("a100", "v100"), "a100/long&nvlink");
  EXPECT_EQ(places.type_of("h100", ""), "");
}

TEST(SlurmPlaces, WhatNoNodeMeetsIsNamed) {
  const SlurmPlaces places(site(), {});
  EXPECT_EQ(places.runs_on({"v100", "gone", ""}).types, "v100");
  EXPECT_EQ(places.runs_on({"v100", "gone", ""}).ignored, "partition gone");
  EXPECT_EQ(places.runs_on({"v100", "", "ib"}).ignored, "features ib");
  EXPECT_TRUE(places.runs_on({"h100", "", ""}).nowhere);
  EXPECT_TRUE(places.runs_on({"v100", "gpu", ""}).nowhere);
}

TEST(SlurmPlaces, FeaturesDoNotCountIfThereAreTooManyKindsOfNodes) {
  std::vector<SlurmNode> nodes;
  std::set<SlurmAsked> asked;
  for (std::uint32_t i = 0; i <= kGpuTypesMax; ++i) {
    const std::string own = fmt::format("own{}", i);
    nodes.push_back(node(own.c_str(), "a100", {i % 2 == 0 ? "even" : "odd"}, {own}));
    asked.insert({"", "", own});
  }
  asked.insert({"", "even", ""});
  const SlurmPlaces places(nodes, asked);
  EXPECT_EQ(places.dropped(), "features");
  EXPECT_EQ(places.runs_on({"", "even", "own2"}).types, "a100/even");
}

TEST(SlurmPlaces, FeaturesAreExpressions) {
  const std::vector<std::string> features = {"a100", "nvlink"};
  for (const char* met : {"", "a100", "a100&nvlink", "ib|nvlink", "[ib|nvlink]", "a100&(ib|nvlink)",
                          "a100*4", "(a100*2)&nvlink", "a100,nvlink"})
    EXPECT_TRUE(meets_features(met, features)) << met;
  for (const char* missed : {"ib", "a100&ib", "(ib|a100)&ib", "[ib|pcie]", "((((", ")"})
    EXPECT_FALSE(meets_features(missed, features)) << missed;
}

}  // namespace
}  // namespace fairlead
