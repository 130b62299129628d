// Stops of gangs of every kind of owner, and the obstacles to stops: budgets, annotations, users.
#include "fairlead/pods/testing_owners.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace fairlead {
namespace {

class StopsTest : public OwnersTest {};

TEST_F(StopsTest, ABarePodIsNeverStoppedUnlessItSaysSo) {
  for (const bool says_so : {false, true}) {
    FakeServer server(1);
    server.add_node({.name = "n", .gpus = 4});
    Json pod =
        fake_template(4, says_so ? Json{{std::string(kPreemptible), "true"}} : Json::object());
    pod["metadata"]["name"] = "p";
    server.act("POST", "/api/v1/namespaces/ann/pods", pod);
    Scheduler live(server, "gang-stride:quantum_s=20");
    live.run_for(seconds(10));
    EXPECT_EQ(live.state("ann/p"), JobState::kRunning);
    server.add_job({.name_space = "bob", .name = "b", .pods = 1, .gpus = 4});
    live.run_for(seconds(300));
    const FakeObject now = server.store().find({std::string(kPods), "ann", "p"});
    EXPECT_EQ(now == nullptr, says_so);
    EXPECT_EQ(live.state("bob/b") == JobState::kRunning, says_so);
    if (says_so) continue;
    // Its end frees its GPUs.
    server.act("DELETE", "/api/v1/namespaces/ann/pods/p");
    live.run_for(seconds(60));
    EXPECT_EQ(live.state("bob/b"), JobState::kRunning);
    EXPECT_EQ(live.state("ann/p"), JobState::kCancelled);
  }
}

TEST_F(StopsTest, OneThatIsNotPreemptibleRunsToItsEndWhereItIs) {
  for (const std::string kind : {"PyTorchJob", "StatefulSet"}) {
    FakeServer server(1);
    SCOPED_TRACE(kind);
    add_operators(server);
    server.add_node({.name = "n", .gpus = 4});
    server.add_node({.name = "m", .gpus = 4});
    const Made of = made(kind, seconds(200), {{std::string(kPreemptible), "false"}});
    server.act("POST", of.path, of.object);
    for (const char* name : {"b", "c", "d"}) {
      server.add_job({.name_space = "bob", .name = name, .pods = 1, .gpus = 4, .run = seconds(60)});
    }
    Scheduler live(server, "gang-stride:quantum_s=20");
    live.run_for(seconds(600));
    const std::string name = "ann/train" + std::string(kind == "StatefulSet" ? "-s-0" : "");
    EXPECT_EQ(live.state(name), JobState::kFinished);
    for (const char* other : {"bob/b", "bob/c", "bob/d"}) {
      EXPECT_EQ(live.state(other), JobState::kFinished);
    }
    const auto stops = std::ranges::count_if(server.calls(), [&](const FakeCall& call) {
      return call.path.find("train") != call.path.npos && call.method != "GET" &&
             !call.path.ends_with("/binding");
    });
    EXPECT_EQ(stops, 0);
    for (const Tables::NodeState& node : live.tables().nodes) EXPECT_EQ(node.up, node.has);
  }
}

TEST_F(StopsTest, ABudgetThatAllowsNoDisruptionKeepsAGangWhereItIsUntilItDoes) {
  for (const std::string kind : {"PyTorchJob", "StatefulSet"}) {
    FakeServer server(1);
    SCOPED_TRACE(kind);
    add_operators(server);
    server.add_node({.name = "n", .gpus = 4});
    Made of = made(kind, {});
    Json& shape = kind == "StatefulSet"
                      ? of.object["spec"]["template"]
                      : of.object["spec"]["pytorchReplicaSpecs"]["Worker"]["template"];
    shape["metadata"]["labels"] = {{"app", "train"}};
    server.act("POST", of.path, of.object);
    const std::string budgets = "/apis/policy/v1/namespaces/ann/poddisruptionbudgets";
    server.act("POST", budgets,
               {{"metadata", {{"name", "keep"}}},
                {"spec", {{"selector", {{"matchLabels", {{"app", "train"}}}}}}},
                {"status", {{"disruptionsAllowed", 1}}}});
    Scheduler live(server, "gang-stride:quantum_s=20");
    live.run_for(seconds(10));
    server.add_job({.name_space = "bob", .name = "b", .pods = 1, .gpus = 4});
    live.run_for(seconds(200));
    const auto stops = [&] {
      return std::ranges::count_if(server.calls(), [](const FakeCall& call) {
        return call.path.ends_with("/eviction") ||
               call.body.find("\"suspend\":true") != call.body.npos;
      });
    };
    EXPECT_NE(live.state("bob/b"), JobState::kRunning);
    EXPECT_EQ(stops(), 0);
    const int places = live.places();
    server.act("PATCH", budgets + "/keep/status", {{"status", {{"disruptionsAllowed", 2}}}});
    live.run_for(seconds(2));
    EXPECT_GT(stops(), 0);
    EXPECT_EQ(live.places(), places + 1);  // it is not placed again while it leaves
  }
}

TEST_F(StopsTest, AnEvictionThatTheServerRefusesIsAskedForAgain) {
  make("StatefulSet");
  server_.fail_next("POST", "/eviction", {.status = 429, .retry_after = seconds(5)}, 4);
  Scheduler live(server_, "gang-stride:quantum_s=60");
  live.run_for(seconds(10));
  rival();
  live.run_for(seconds(100));
  EXPECT_EQ(running("bob"), 1);
  EXPECT_GE(evictions(), 6);
}

TEST_F(StopsTest, AHoldKeepsAJobOffTheGpusWhateverItsSuspensionSays) {
  make("PyTorchJob");
  rival();
  Scheduler live(server_, "gang-stride:quantum_s=20");
  live.run_for(seconds(5));
  for (int turns = 0; running() > 0 && turns < 9; ++turns) live.run_for(seconds(5));
  ASSERT_EQ(running(), 0);  // Fairlead has suspended it, or never resumed it
  annotate(kHold, "true");
  live.run_for(seconds(100));
  EXPECT_EQ(live.state("ann/train"), JobState::kHeld);
  EXPECT_EQ(running("bob"), 1);
  annotate(kHold, nullptr);
  live.run_for(seconds(15));
  for (int turns = 0; running() < 2 && turns < 9; ++turns) live.run_for(seconds(5));
  EXPECT_EQ(running(), 2);
  annotate(kHold, "true");
  live.run_for(seconds(5));
  EXPECT_EQ(running(), 0);
  EXPECT_EQ(live.state("ann/train"), JobState::kHeld);
}

TEST_F(StopsTest, AUsersOwnSuspensionOfAPyTorchJobHoldsIt) {
  make("PyTorchJob");
  Scheduler live(server_, "fifo:skip=true");
  live.run_for(seconds(20));
  ASSERT_EQ(running(), 2);
  server_.act("PATCH", path_, {{"spec", {{"runPolicy", {{"suspend", true}}}}}});
  live.run_for(seconds(20));
  EXPECT_EQ(live.state("ann/train"), JobState::kHeld);
  server_.act("PATCH", path_, {{"spec", {{"runPolicy", {{"suspend", false}}}}}});
  live.run_for(seconds(20));
  EXPECT_EQ(running(), 2);
}

TEST_F(StopsTest, AMarkThatOutlivesASuspensionDoesNotHideTheUsersNext) {
  make("PyTorchJob");
  Scheduler live(server_, "fifo:skip=true");
  live.run_for(seconds(20));
  annotate(kSuspendedBy, "fairlead");
  live.run_for(seconds(20));
  // The mark is removed together with the next necessary call; the user suspends it afterwards.
  const auto& object = *server_.store().find({"/apis/kubeflow.org/v1/pytorchjobs", "ann", "train"});
  EXPECT_EQ(text_at(object, {"metadata", "annotations", kSuspendedBy}), "");
  server_.act("PATCH", path_, {{"spec", {{"runPolicy", {{"suspend", true}}}}}});
  live.run_for(seconds(20));
  EXPECT_EQ(live.state("ann/train"), JobState::kHeld);
}

// Two gangs, stopped by eviction, and a Job take turns on four GPUs.
class EvictedTurns : public RunToTheEnd {
 public:
  EvictedTurns() {
    add_operators(server);
    server.add_node({.name = "n", .gpus = 4});
    const Made of = made("StatefulSet", seconds(50));
    server.act("POST", of.path, of.object);
    server.add_job({.name_space = "bob", .name = "b", .pods = 2, .gpus = 2, .run = seconds(50)});
  }

 private:
  bool is_done() override {
    const FakeObject set = server.store().find({std::string(kStatefulSets), "ann", "train"});
    return text_at(item_at(*set, {"status", "conditions"}, "type", "Succeeded"), {"status"}) ==
               "True" &&
           all_jobs_done(server);
  }
};

TEST(StopsFaults, EvictedGangsComeToTheirEndsWhateverCallGoesWrong) { try_faults<EvictedTurns>(3); }

TEST(StopsFaults, EvictedGangsComeToTheirEndsWhereverTheSchedulerIsKilled) {
  try_kills<EvictedTurns>();
}

}  // namespace
}  // namespace fairlead
