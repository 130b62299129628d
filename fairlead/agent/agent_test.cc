#include "fairlead/agent/agent.h"

#include "fairlead/agent/testing_node.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace fairlead {
namespace {

Pod pod(std::string wish, std::string report = "") {
  return {.node = "a",
          .wish = std::move(wish),
          .report = std::move(report),
          .state = Pod::State::kRunning,
          .is_ours = true};
}

TEST(AgentRules, APodRestsWhereItsWishSaysSoAndItCan) {
  EXPECT_TRUE(is_to_rest(pod("false 7"), true));
  EXPECT_FALSE(is_to_rest(pod("true 7"), true));
  EXPECT_FALSE(is_to_rest(pod(""), true));
  EXPECT_FALSE(is_to_rest(pod("false 7"), false));
  Pod leaving = pod("false 7");
  leaving.is_leaving = true;
  EXPECT_FALSE(is_to_rest(leaving, true));
  Pod of_others = pod("false 7");
  of_others.is_ours = false;
  EXPECT_FALSE(is_to_rest(of_others, true));
  Pod begins = pod("false 7");
  begins.state = Pod::State::kPending;
  EXPECT_FALSE(is_to_rest(begins, true));
}

TEST(AgentRules, AReportRepeatsTheWishOnceItIsSo) {
  EXPECT_EQ(report_of(pod("false 7"), true, PodState::kFreezing), "");
  EXPECT_EQ(report_of(pod("false 7"), true, PodState::kFrozen), "false 7");
  EXPECT_EQ(report_of(pod("false 9", "true 8"), true, PodState::kFreezing), "true 8");
  EXPECT_EQ(report_of(pod("true 9", "false 7"), true, PodState::kFrozen), "false 7");
  EXPECT_EQ(report_of(pod("true 9", "false 7"), true, PodState::kThawed), "true 9");
  EXPECT_EQ(report_of(pod("true 5"), true, PodState::kThawed), "");
  EXPECT_EQ(report_of(pod("false 7", "false 7"), false, PodState::kThawed), "thawed");
}

class AgentTest : public testing::Test {
 protected:
  void SetUp() override {
    server_.act("POST", "/api/v1/namespaces", {{"metadata", {{"name", "fairlead"}}}});
    server_.add_node({.name = "a", .gpus = 2});
    server_.add_job({.name_space = "lab",
                     .name = "train",
                     .pods = 0,
                     .gpus = 1,
                     .resource = std::string(kSlotResource)});
    renew();
    run_for(seconds(1));
    server_.act("POST", kPod + "/binding",
                {{"metadata", {{"name", "train"}, {"annotations", {{kGpusOf, "1"}}}}},
                 {"target", {{"kind", "Node"}, {"name", "a"}}}});
    run_for(seconds(3));
  }
  // Renews the Lease. A scheduler does so every two seconds.
  void renew() {
    const std::string leases = "/apis/coordination.k8s.io/v1/namespaces/fairlead/leases";
    const Json spec = {{"holderIdentity", "s"}, {"renewTime", server_.now().ms}};
    const Json lease = {{"metadata", {{"name", "fairlead"}}}, {"spec", spec}};
    if (server_.act("POST", leases, lease).status != 201)
      server_.act("PATCH", leases + "/fairlead", {{"spec", spec}});
  }
  void run_for(Duration time, bool renews = true) {
    const Time end = server_.now() + time;
    while (server_.now() < end) {
      if (renews) renew();
      server_.run_until(std::min(end, server_.now() + seconds(2)));
    }
  }
  void wish(const std::string& text) {
    server_.act("PATCH", kPod, {{"metadata", {{"annotations", {{kWish, text}}}}}});
    run_for(seconds(1));
  }
  Pod pod() { return parse_pod(server_.act("GET", kPod).body); }
  bool is_frozen() { return server_.cluster().is_frozen(uid_.empty() ? uid_ = pod().uid : uid_); }

  const std::string kPod = "/api/v1/namespaces/lab/pods/train";
  const std::filesystem::path logs_ = std::filesystem::path(testing::TempDir()) / "agent_test";
  FakeServer server_{1};
  TestingNode node_{server_, "a", 3, logs_};
  std::string uid_;
};

TEST_F(AgentTest, ANodeOffersItsSlotsAndOffersThemAgainIfTheyAreForgotten) {
  const auto slots = [&] { return parse_node(server_.act("GET", "/api/v1/nodes/a").body); };
  EXPECT_EQ(slots().gpus, 2U);
  EXPECT_EQ(slots().slots_per_gpu, 3U);
  server_.act("PATCH", "/api/v1/nodes/a/status",
              {{"status", {{"allocatable", {{kSlotResource, "0"}}}}}});
  EXPECT_EQ(slots().slots_per_gpu, 0U);
  run_for(seconds(1));
  EXPECT_EQ(slots().slots_per_gpu, 3U);
}

TEST_F(AgentTest, PodsAreFrozenAndThawedAsIsWishedAndItSaysSo) {
  wish("false 1");
  EXPECT_TRUE(is_frozen());
  EXPECT_EQ(pod().report, "false 1");
  wish("true 2");
  EXPECT_FALSE(is_frozen());
  EXPECT_EQ(pod().report, "true 2");
}

TEST_F(AgentTest, AReportThatIsLostIsMadeAgain) {
  for (const auto kind :
       {FakeFault::Kind::kLostRequest, FakeFault::Kind::kLostAnswer, FakeFault::Kind::kStatus}) {
    server_.fail_next("PATCH", "/pods/train", {.kind = kind, .status = 500});
    const std::string text = "false " + std::to_string(static_cast<int>(kind));
    Json wished = *server_.store().find({std::string(kPods), "lab", "train"});
    wished["metadata"]["annotations"][std::string(kWish)] = text;
    server_.store().put({std::string(kPods), "lab", "train"}, wished, server_.unix_ms());
    run_for(seconds(40));
    EXPECT_EQ(pod().report, text);
  }
}

TEST_F(AgentTest, WhatIsDeletedIsThawedForItsGracePeriod) {
  wish("false 1");
  server_.act("DELETE", kPod);
  run_for(seconds(5));
  EXPECT_FALSE(is_frozen());
  EXPECT_EQ(server_.act("GET", kPod).status, 404);
}

TEST_F(AgentTest, WhatNoSchedulerClaimsIsThawedUntilOneIsBack) {
  wish("false 1");
  run_for(seconds(50), false);
  EXPECT_TRUE(is_frozen());
  run_for(seconds(30), false);
  EXPECT_FALSE(is_frozen());
  EXPECT_EQ(pod().report, "thawed");
  run_for(seconds(20));
  EXPECT_TRUE(is_frozen());
  EXPECT_EQ(pod().report, "false 1");
}

TEST_F(AgentTest, WithoutAnApiServerPodsAreThawedToo) {
  wish("false 1");
  server_.go_away(seconds(200));
  run_for(seconds(90), false);
  EXPECT_FALSE(is_frozen());
}

TEST_F(AgentTest, AnOrderlyEndThawsAll) {
  wish("false 1");
  node_.end();
  run_for(seconds(1));
  EXPECT_FALSE(is_frozen());
  EXPECT_EQ(pod().report, "thawed");
}

TEST_F(AgentTest, AnAgentThatWasKilledIsFollowedByOneThatGoesOn) {
  wish("false 1");
  node_.kill(seconds(5));
  run_for(seconds(1));
  wish("true 2");
  EXPECT_TRUE(is_frozen());
  run_for(seconds(10));
  EXPECT_FALSE(is_frozen());
  EXPECT_EQ(pod().report, "true 2");
}

TEST_F(AgentTest, TheTimeInWhichAPodIsFrozenCountsForNoSpeed) {
  std::filesystem::remove_all(logs_);
  const auto folder = logs_ / fmt::format("lab_train_{}", pod().uid) / "main";
  std::filesystem::create_directories(folder);
  int steps = 0;
  for (int turn = 0; turn < 8; ++turn) {
    wish(fmt::format("true {}", 2 * turn + 1));
    for (int s = 0; s < 20; ++s) {
      run_for(seconds(1));
      std::ofstream(folder / "0.log", std::ios::app)
          << fmt::format("2026-11-27T09:00:00Z stdout F step {}: loss 1\n", steps += 10);
    }
    wish(fmt::format("false {}", 2 * turn + 2));
    EXPECT_TRUE(is_frozen());
    run_for(seconds(60));
  }
  ASSERT_TRUE(pod().progress.has_value());
  EXPECT_NEAR(pod().progress->unit_per_s, 10, 1);
  std::filesystem::remove_all(logs_);
}

TEST_F(AgentTest, AFrozenPodThatTheServerDoesNotKnowIsThawed) {
  ASSERT_TRUE(node_.freezer().set("of-before", true));
  run_for(seconds(15));
  EXPECT_TRUE(node_.freezer().frozen().empty());
}

}  // namespace
}  // namespace fairlead
