#include "fairlead/pods/pods_world.h"

#include "fairlead/pods/testing_scheduler.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace fairlead {
namespace {

class PodsWorldTest : public testing::Test {
 protected:
  void SetUp() override {
    server_.add_node({.name = "v", .gpus = 4, .product = "Tesla-V100-SXM2-16GB"});
    server_.add_node({.name = "k", .gpus = 4, .product = "Tesla-K80"});
  }
  // Returns the nodes of a Job's running pods.
  std::vector<std::string> nodes_of(const std::string& job) {
    std::vector<std::string> nodes;
    const FakeAnswer list = server_.act("GET", "/api/v1/pods");
    for (const Json& pod : json_at(list.body, {"items"})) {
      const bool is_its =
          text_at(pod, {"metadata", "labels", "batch.kubernetes.io/job-name"}) == job ||
          text_at(pod, {"metadata", "name"}).starts_with(job + "-");
      if (is_its && text_at(pod, {"status", "phase"}) == "Running") {
        nodes.push_back(text_at(pod, {"spec", "nodeName"}));
      }
    }
    std::ranges::sort(nodes);
    return nodes;
  }

  FakeServer server_{1};
};

TEST_F(PodsWorldTest, AJobOfTwoPodsIsBoundAsAGangAndFinishes) {
  server_.add_job({.name_space = "lab", .name = "train", .pods = 2, .gpus = 2, .run = seconds(60)});
  Scheduler live(server_, "fifo:skip=true");
  live.run_for(seconds(30));
  EXPECT_EQ(live.state("lab/train"), JobState::kRunning);
  EXPECT_EQ(nodes_of("train").size(), 2U);
  live.run_for(seconds(60));
  EXPECT_EQ(live.state("lab/train"), JobState::kFinished);
  EXPECT_EQ(live.places(), 1);
}

TEST_F(PodsWorldTest, ABacklogIsBoundSomeAtATimeSoThatTheLeaseIsRenewedBetween) {
  constexpr std::uint32_t kJobs = 50;
  for (std::uint32_t i = 0; i < kJobs; ++i) {
    server_.add_node({.name = fmt::format("more{}", i), .gpus = 4, .product = "Tesla-K80"});
    server_.add_job({.name_space = "lab", .name = fmt::format("j{}", i), .pods = 4, .gpus = 1});
  }
  const auto before = server_.open();
  before->wait(before->now() + seconds(30));  // all pods exist
  Scheduler live(server_, "fifo:skip=true");
  live.run_for(seconds(60));
  EXPECT_LE(live.most_bindings(), 103U);
  for (std::uint32_t i = 0; i < kJobs; ++i) {
    EXPECT_EQ(live.state(fmt::format("lab/j{}", i)), JobState::kRunning);
  }
}

TEST_F(PodsWorldTest, ABindingThatFailedOnTheServersSideIsSentAgain) {
  for (const FakeFault::Kind kind : {FakeFault::Kind::kStatus, FakeFault::Kind::kLostRequest}) {
    FakeServer server(1);
    for (const char* name : {"a", "b"}) server.add_node({.name = name, .gpus = 4});
    server.add_job({.name_space = "lab", .name = "train", .pods = 2, .gpus = 4});
    server.fail_next("POST", "/binding", {.kind = kind}, 3);
    Scheduler live(server, "fifo:skip=true");
    live.run_for(seconds(200));  // shorter than the limit of a start
    EXPECT_EQ(live.state("lab/train"), JobState::kRunning);
    EXPECT_FALSE(live.tables().jobs.is_starting(*live.job("lab/train")));
  }
}

TEST_F(PodsWorldTest, TwoUsersTakeTurnsBySuspension) {
  server_.add_job({.name_space = "ann", .name = "a", .pods = 4, .gpus = 2});
  server_.add_job({.name_space = "bob", .name = "b", .pods = 4, .gpus = 2});
  Scheduler live(server_, "gang-stride:quantum_s=60,mixed=true");
  live.run_for(seconds(3600));
  EXPECT_NEAR(live.attained_gpu_s("ann/a"), live.attained_gpu_s("bob/b"), 8 * 120);
  EXPECT_GT(live.attained_gpu_s("ann/a"), 8 * 1500);
  EXPECT_TRUE(live.failures().empty());
}

TEST_F(PodsWorldTest, AUsersOwnSuspensionHoldsTheJobAndNoneOfOursDoes) {
  server_.add_job({.name_space = "lab", .name = "train", .pods = 1, .gpus = 1});
  Scheduler live(server_, "fifo:skip=true");
  live.run_for(seconds(20));
  const std::string path = "/apis/batch/v1/namespaces/lab/jobs/train";
  server_.act("PATCH", path, {{"spec", {{"suspend", true}}}});
  live.run_for(seconds(20));
  EXPECT_EQ(live.state("lab/train"), JobState::kHeld);
  server_.act("PATCH", path, {{"spec", {{"suspend", false}}}});
  live.run_for(seconds(20));
  EXPECT_EQ(live.state("lab/train"), JobState::kRunning);
  EXPECT_EQ(nodes_of("train").size(), 1U);
}

TEST_F(PodsWorldTest, PodsOfOthersTakeTheirGpusOutOfPlay) {
  server_.add_job(
      {.name_space = "web", .name = "other", .pods = 1, .gpus = 3, .scheduler = "default"});
  server_.run_until(Time{2000});
  const FakeAnswer list = server_.act("GET", "/api/v1/pods");
  const std::string pod = text_at(json_at(list.body, {"items"})[0], {"metadata", "name"});
  server_.act("POST", "/api/v1/namespaces/web/pods/" + pod + "/binding",
              {{"apiVersion", "v1"},
               {"kind", "Binding"},
               {"metadata", {{"name", pod}}},
               {"target", {{"kind", "Node"}, {"name", "v"}}}});
  server_.add_job({.name_space = "lab", .name = "train", .pods = 1, .gpus = 4});
  Scheduler live(server_, "fifo:skip=true,placement=first-fit");
  live.run_for(seconds(20));
  EXPECT_EQ(nodes_of("train"), std::vector<std::string>{"k"});
}

TEST_F(PodsWorldTest, AJobOnANodeThatIsLostRunsElsewhere) {
  server_.add_job({.name_space = "lab", .name = "train", .pods = 1, .gpus = 4});
  Scheduler live(server_, "fifo:skip=true,placement=first-fit");
  live.run_for(seconds(20));
  const std::vector<std::string> before = nodes_of("train");
  ASSERT_EQ(before.size(), 1U);
  server_.set_node_ready(before[0], false);
  live.run_for(seconds(120));
  const std::vector<std::string> after = nodes_of("train");
  ASSERT_FALSE(after.empty());
  EXPECT_TRUE(
      std::ranges::any_of(after, [&](const std::string& node) { return node != before[0]; }));
}

TEST_F(PodsWorldTest, AnotherSchedulerTakesUpTheGangsThatRun) {
  for (const std::string policy : {"fifo:skip=true", "gandiva-fair"}) {
    FakeServer server(1);
    for (const std::string name : {"a", "b", "c"}) server.add_node({.name = name, .gpus = 4});
    for (const std::string name : {"x", "y", "z"}) {
      server.add_job({.name_space = "lab", .name = name, .pods = 1, .gpus = 3});
    }
    server.run_until(Time{} + seconds(1));  // both schedulers find all pods
    {
      Scheduler first(server, policy);
      first.run_for(seconds(30));
    }
    const auto writes = [&] {
      return std::ranges::count_if(server.calls(), [](const FakeCall& call) {
        return call.method != "GET" && !call.path.ends_with("/events");
      });
    };
    const auto before = writes();
    Scheduler second(server, policy);
    second.run_for(seconds(300));
    EXPECT_EQ(writes(), before) << policy;
    for (const std::string name : {"lab/x", "lab/y", "lab/z"}) {
      EXPECT_EQ(second.state(name), JobState::kRunning) << policy << " " << name;
    }
  }
}

// Three gangs that take turns on eight GPUs.
class Turns : public RunToTheEnd {
 public:
  Turns() {
    for (const std::string name : {"a", "b"}) server.add_node({.name = name, .gpus = 4});
    add("ann", "x", 2, 2);
    add("bob", "y", 1, 4);
    add("cy", "z", 2, 3);
  }

 private:
  void add(const std::string& user, const std::string& name, int pods, int gpus) {
    server.add_job(
        {.name_space = user, .name = name, .pods = pods, .gpus = gpus, .run = seconds(60)});
  }
};

TEST(PodsFaults, GangsComeToTheirEndsWhateverCallGoesWrong) { try_faults<Turns>(3); }

TEST(PodsFaults, GangsComeToTheirEndsWhereverTheSchedulerIsKilled) { try_kills<Turns>(); }

TEST(PodsFaults, GangsComeToTheirEndsThroughOutages) {
  try_outages<Turns>(seconds(1), seconds(7), seconds(120));
}

TEST_F(PodsWorldTest, WhatIsNoGangIsRefusedWithItsReason) {
  server_.add_job({.name_space = "lab", .name = "cpu", .pods = 1, .gpus = 0});
  Scheduler live(server_, "fifo:skip=true");
  live.run_for(seconds(5));
  EXPECT_EQ(live.world().refused().at("lab/cpu"), "its pods ask for no nvidia.com/gpu");
}

}  // namespace
}  // namespace fairlead
