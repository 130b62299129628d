// The agent's reports of the progress that pods print, without slots.

#include "fairlead/agent/agent.h"
#include "fairlead/kube/fake_server.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>

namespace fairlead {
namespace {

namespace fs = std::filesystem;

class NoCgroups : public PodFreezer {
 public:
  PodState state(const std::string&) override { return PodState::kNone; }
  Status set(const std::string&, bool) override { return run_error("there are no cgroups"); }
  std::vector<std::string> frozen() override { return {}; }
};

class ProgressTest : public testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(folder_);
    server_.add_node({.name = "a", .gpus = 2});
    server_.add_job({.name_space = "lab", .name = "train", .pods = 0, .gpus = 1});
    start();
    run_for(seconds(1));
    server_.act("POST", kPod + "/binding",
                {{"metadata", {{"name", "train"}}}, {"target", {{"kind", "Node"}, {"name", "a"}}}});
    run_for(seconds(3));
  }
  void TearDown() override { fs::remove_all(folder_); }

  void start() {
    agent_.reset();
    door_ = server_.open();
    agent_ = std::make_unique<Agent>(*door_, freezer_, AgentOptions{.node = "a", .logs = folder_},
                                     [](const std::string&) {});
  }
  void run_for(Duration time) {
    const Time end = door_->now() + time;
    while (door_->now() < end) {
      agent_->wake();
      const KubeEvent event = door_->wait(std::min(end, agent_->wake_at()));
      if (event.kind != KubeEvent::Kind::kTime) agent_->handle(event);
    }
  }
  // Prints a line each second for that time, at that speed.
  void train(int s, double step_per_s, const std::string& file = "0.log") {
    for (int i = 0; i < s; ++i) {
      run_for(seconds(1));
      steps_ += step_per_s;
      print(fmt::format("step {:.0f}/100000: loss 0.5", steps_), file);
    }
  }
  void print(const std::string& text, const std::string& file = "0.log") {
    const fs::path folder = folder_ / fmt::format("lab_train_{}", pod().uid) / "main";
    fs::create_directories(folder);
    std::ofstream(folder / file, std::ios::app) << "2026-11-27T09:00:00Z stdout F " << text << '\n';
  }
  Pod pod() { return parse_pod(server_.act("GET", kPod).body); }
  double told() { return pod().progress ? pod().progress->unit_per_s : 0; }
  std::size_t writes() {
    return static_cast<std::size_t>(std::ranges::count_if(
        server_.calls(), [](const FakeCall& call) { return call.method == "PATCH"; }));
  }

  const std::string kPod = "/api/v1/namespaces/lab/pods/train";
  const fs::path folder_ = fs::path(testing::TempDir()) / "progress_test";
  FakeServer server_{1};
  NoCgroups freezer_;
  std::unique_ptr<KubeDoor> door_;
  std::unique_ptr<Agent> agent_;
  double steps_ = 0;
};

TEST_F(ProgressTest, ASpeedIsReportedOnceItIsMeasured) {
  train(25, 4);
  EXPECT_FALSE(pod().progress.has_value());
  train(25, 4);
  EXPECT_NEAR(told(), 4, 0.3);
  EXPECT_EQ(pod().progress->progress.total, 100'000);
  EXPECT_EQ(pod().progress->progress.unit, "steps");
}

TEST_F(ProgressTest, AtMostOneReportIsMadeAMinuteAndNoneWithoutNews) {
  for (int i = 0; i < 30; ++i) train(10, i % 2 == 0 ? 1 : 30);
  EXPECT_GE(writes(), 2U);
  EXPECT_LE(writes(), 5U);
  train(700, 15);  // the mean over some minutes settles
  const std::size_t before = writes();
  const double done = pod().progress->progress.done;
  train(500, 15);
  EXPECT_LE(writes(), before + 1);
  train(200, 15);
  EXPECT_EQ(writes(), before + 1) << "for the progress beside the speed, after ten minutes";
  EXPECT_GT(pod().progress->progress.done, done);
}

TEST_F(ProgressTest, APodThatPrintsNoProgressIsNotReported) {
  for (int s = 0; s < 200; ++s) {
    run_for(seconds(1));
    print("the epoch has begun");
  }
  EXPECT_EQ(writes(), 0U);
  EXPECT_FALSE(pod().progress.has_value());
}

TEST_F(ProgressTest, AnAgentThatFollowsAnotherReportsNoSpeedAgain) {
  train(60, 4);
  EXPECT_EQ(writes(), 1U);
  start();
  train(120, 4);
  EXPECT_EQ(writes(), 1U);
  train(700, 8);
  EXPECT_NEAR(told(), 8, 0.5);
}

TEST_F(ProgressTest, TheTimeOfARestartIsNoWork) {
  train(40, 4);
  run_for(seconds(300));
  steps_ = 0;
  train(120, 4, "1.log");
  EXPECT_NEAR(told(), 4, 0.3);
}

TEST_F(ProgressTest, AReportThatIsLostIsMadeAgain) {
  server_.fail_next("PATCH", "/pods/train", {.kind = FakeFault::Kind::kStatus, .status = 500});
  train(200, 4);
  EXPECT_NEAR(told(), 4, 0.3);
}

TEST_F(ProgressTest, AnAgentWithoutSlotsAsksForNoLeaseAndOffersNone) {
  train(60, 4);
  EXPECT_TRUE(std::ranges::none_of(server_.calls(), [](const FakeCall& call) {
    return call.path.find("leases") != std::string::npos ||
           call.path.find("/status") != std::string::npos;
  }));
  server_.act("PATCH", "/api/v1/nodes/a/status",
              {{"status", {{"allocatable", {{kSlotResource, "4"}}}}}});
  EXPECT_GT(parse_node(server_.act("GET", "/api/v1/nodes/a").body).slots_per_gpu, 0U);
  run_for(seconds(15));
  EXPECT_EQ(parse_node(server_.act("GET", "/api/v1/nodes/a").body).slots_per_gpu, 0U)
      << "slots of an earlier agent go";
}

}  // namespace
}  // namespace fairlead
