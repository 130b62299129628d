#include "fairlead/pods/resources.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace fairlead {
namespace {

TEST(Quantities, AreReadAsKubernetesReadsThem) {
  EXPECT_EQ(parse_quantity("500m"), 500);
  EXPECT_EQ(parse_quantity("2"), 2000);
  EXPECT_EQ(parse_quantity("0.1"), 100);
  EXPECT_EQ(parse_quantity("1.5Gi"), 1'610'612'736'000);
  EXPECT_EQ(parse_quantity("64Gi"), 68'719'476'736'000);
  EXPECT_EQ(parse_quantity("12e6"), 12'000'000'000);
  EXPECT_EQ(parse_quantity("12M"), 12'000'000'000);
  EXPECT_EQ(parse_quantity("1k"), 1'000'000);
  EXPECT_EQ(parse_quantity("1n"), 1) << "rounded up";
  EXPECT_EQ(parse_quantity("8Ei"), kAmountMax);
  for (const char* text : {"", "x", "-1", "1KB", "1 Gi", "nan"}) {
    EXPECT_FALSE(parse_quantity(text)) << text;
  }
}

Resources requests_of(const char* spec) { return pod_requests(*parsed_json(spec)); }

TEST(PodRequests, AreThoseOfAllContainers) {
  const Resources requests = requests_of(R"({"containers": [
      {"resources": {"requests": {"cpu": "2", "memory": "1Gi"}, "limits": {"cpu": "4"}}},
      {"resources": {"limits": {"cpu": "1", "nvidia.com/gpu": 8}}}],
      "overhead": {"cpu": "250m"}})");
  EXPECT_EQ(requests.at("cpu"), 3250);
  EXPECT_EQ(requests.at("memory"), 1'073'741'824'000);
  EXPECT_EQ(requests.at("nvidia.com/gpu"), 8000);
  EXPECT_EQ(requests.at("pods"), 1000);
}

TEST(PodRequests, InitContainersTakeTurnsBesideTheSidecarsBegunBefore) {
  const Resources requests = requests_of(R"({
      "containers": [{"resources": {"requests": {"cpu": "2", "memory": "1"}}}],
      "initContainers": [
        {"resources": {"requests": {"cpu": "5"}}},
        {"restartPolicy": "Always", "resources": {"requests": {"cpu": "1"}}},
        {"resources": {"requests": {"cpu": "5", "memory": "3"}}}]})");
  EXPECT_EQ(requests.at("cpu"), 6000) << "the third, beside the sidecar";
  EXPECT_EQ(requests.at("memory"), 3000);
}

TEST(PodRequests, WhatIsSaidOfThePodStandsForItsContainers) {
  const Resources requests = requests_of(R"({"resources": {"requests": {"cpu": "3"}},
      "containers": [{"resources": {"requests": {"cpu": "8"}}}]})");
  EXPECT_EQ(requests.at("cpu"), 3000);
}

TEST(PodRequests, APortOfTheHostIsThereOnce) {
  const Resources named =
      requests_of(R"({"containers": [{"ports": [{"containerPort": 80, "hostPort": 8080}]}]})");
  const Resources on_host =
      requests_of(R"({"hostNetwork": true, "containers": [{"ports": [{"containerPort": 8080}]}]})");
  EXPECT_EQ(named, on_host);
  const Resources node = {{"pods", 110'000}};
  EXPECT_EQ(lacking(node, {}, named), "");
  EXPECT_EQ(lacking(node, named, on_host), "hostPort 8080/TCP");
  const Resources inside = requests_of(R"({"containers": [{"ports": [{"containerPort": 80}]}]})");
  EXPECT_EQ(inside, (Resources{{"pods", 1000}}));
}

TEST(Lacking, NamesTheFirstResourceOfWhichThereIsTooLittle) {
  const Resources offered = {{"cpu", 8000}, {"memory", 100}};
  EXPECT_EQ(lacking(offered, {{"cpu", 4000}}, {{"cpu", 4000}, {"memory", 100}}), "");
  EXPECT_EQ(lacking(offered, {{"cpu", 4001}}, {{"cpu", 4000}}), "cpu");
  EXPECT_EQ(lacking(offered, {}, {{"rdma/hca", 1000}}), "rdma/hca");
  EXPECT_EQ(lacking(offered, {{"memory", 500}}, {{"memory", 0}}), "") << "none of it is asked for";
  EXPECT_EQ(lacking({{"cpu", kAmountMax}}, {{"cpu", kAmountMax}}, {{"cpu", kAmountMax}}), "");
}

}  // namespace
}  // namespace fairlead
