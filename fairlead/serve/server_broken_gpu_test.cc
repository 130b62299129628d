// GPUs on which jobs fail at once, and GPUs that an administrator or the driver takes out of service.

#include "fairlead/serve/testing_daemon.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace fairlead {
namespace {

using nlohmann::json;

json gpus_of(SimDaemon& daemon) {
  json all = json::array();
  const json cluster = json::parse(daemon.ask("GET", "/v1/cluster").body);
  for (const json& node : cluster["nodes"])
    for (const json& gpu : node["gpus"]) all.push_back(gpu);
  return all;
}
json state_of(SimDaemon& daemon, std::size_t gpu) { return gpus_of(daemon)[gpu]["state"]; }
std::string why(SimDaemon& daemon, std::size_t job) {
  return daemon.ask("GET", fmt::format("/v1/jobs/{}/why", job)).body;
}

struct Shape {
  const char* name;
  const char* nodes;
  const char* policy;
  int gpus;
  int job;  // the number of GPUs that each job needs
  int users;
};

class BrokenGpu : public testing::TestWithParam<Shape> {
 protected:
  // Submits 40 jobs, of which each fails at once on GPU `broken`. Returns how many of them are lost.
  static int lost(int broken, int retries, int gap_ms) {
    const Shape& shape = GetParam();
    SimDaemon daemon(shape.policy, shape.nodes);
    for (int i = 0; i < 40; ++i) {
      daemon.submit({"work", "400000", fmt::format("broken={}", broken), "every=1",
                     "term=checkpoint:1", fmt::format("retries={}", retries)},
                    shape.job, i % shape.users == 0 ? kAnn : kBob,
                    {{"retries", retries}, {"pinned", 0}, {"model", i % 3 == 0 ? "a" : "b"}});
      daemon.run_to(static_cast<int>(daemon.io.time().ms / 1000) + gap_ms / 1000);
    }
    daemon.run_to(3000);
    int failed = 0;
    const json jobs = json::parse(daemon.ask("GET", "/v1/jobs?all=1").body);
    for (const json& job : jobs["jobs"]) failed += job["state"] == "failed" ? 1 : 0;
    EXPECT_EQ(gpus_of(daemon)[static_cast<std::size_t>(broken)]["state"], "closed");
    EXPECT_EQ(daemon.io.processes().problems(), std::vector<std::string>());
    return failed;
  }
};

INSTANTIATE_TEST_SUITE_P(
    Shapes, BrokenGpu,
    testing::Values(Shape{"Two", "2xV100", "fifo", 2, 1, 2},
                    Shape{"FourOfOneUser", "4xV100", "fifo", 4, 1, 1},
                    Shape{"EightTakeTurns", "8xV100", "fairlead:resident=true,notes=true", 8, 1, 2},
                    Shape{"TwoTypes", "3xV100,2xK80@0.5", "fairlead:resident=true", 5, 1, 2},
                    Shape{"Gangs", "8xV100", "fifo", 8, 2, 2},
                    Shape{"GangsTakeTurns", "6xV100", "gandiva-fair:quantum_s=60", 6, 2, 1}),
    [](const auto& tested) { return tested.param.name; });

TEST_P(BrokenGpu, CostsTwoOfFortyJobsAtMost) {
  for (const int broken : {0, GetParam().gpus - 1}) {
    for (const int gap_ms : {0, 2000}) EXPECT_LE(lost(broken, 0, gap_ms), 2) << broken;
  }
}

TEST_P(BrokenGpu, CostsNoJobThatMayBeRetried) {
  for (const int broken : {0, GetParam().gpus - 1}) EXPECT_EQ(lost(broken, 1, 0), 0) << broken;
}

TEST(Server, JobsThatFailByThemselvesCloseNoGpu) {
  for (const char* policy : {"fifo", "fairlead:resident=true"}) {
    SimDaemon daemon(policy, "4xV100");
    for (int i = 0; i < 40; ++i) {
      daemon.submit({"work", "100", "exit=2"}, 1, i % 2 == 0 ? kAnn : kBob, {{"retries", i % 3}});
      daemon.run_to(static_cast<int>(daemon.io.time().ms / 1000) + 1);
    }
    daemon.run_to(100);
    const json gpus = gpus_of(daemon);
    for (const json& gpu : gpus) EXPECT_EQ(gpu["state"], "idle") << policy << gpu;
  }
}

TEST(Server, AClosedGpuIsReportedEverywhereAndSurvivesTheDaemon) {
  SimDaemon daemon("fifo", "2xV100");
  daemon.submit({"work", "600000"});
  const std::size_t first = daemon.submit({"work", "60000", "broken=1"}, 1, kAnn);
  daemon.submit({"work", "60000", "broken=1"}, 1, kBob);
  daemon.run_to(10);
  const std::size_t waits = daemon.submit({"work", "1000"}, 1, kBob);
  EXPECT_EQ(state_of(daemon, 1), "closed");
  daemon.fail(Outage::kDaemon);
  EXPECT_EQ(state_of(daemon, 1), "closed");
  const std::string reason =
      fmt::format("job {} of user1000, job {} of user1001 failed at once on it (exit code 1)",
                  first, first + 1);
  EXPECT_EQ(gpus_of(daemon)[1]["outage"], reason);
  EXPECT_NE(why(daemon, waits).find("GPU 1 is closed: " + reason), std::string::npos)
      << why(daemon, waits);
  EXPECT_NE(daemon.ask("GET", "/metrics")
                .body.find(R"(fairlead_gpu_out_of_service{gpu="1",cause="failures"} 1)"),
            std::string::npos);
  EXPECT_EQ(daemon.state(waits), "waiting");
  EXPECT_EQ(daemon.ask("POST", "/v1/gpus/1/uncordon", {}, 0).status, 200);
  daemon.run_to(20);
  EXPECT_EQ(daemon.state(waits), "finished");
}

TEST(Server, AnAdministratorClosesAGpuAndItsJobGoesOn) {
  SimDaemon daemon("fifo", "2xV100");
  const std::size_t stays = daemon.submit({"work", "20000"});
  EXPECT_EQ(daemon.ask("POST", "/v1/gpus/0/cordon", {}, kAnn).status, 403);
  EXPECT_EQ(daemon.ask("POST", "/v1/gpus/2/cordon", {}, 0).status, 404);
  EXPECT_EQ(daemon.ask("POST", "/v1/gpus/0/cordon", {}, 0).status, 200);
  daemon.fail(Outage::kDaemon);
  const std::size_t other = daemon.submit({"work", "60000"});
  const std::size_t waits = daemon.submit({"work", "1000"});
  daemon.run_to(40);
  EXPECT_EQ(daemon.state(stays), "finished");
  EXPECT_EQ(daemon.state(other), "running");
  EXPECT_EQ(daemon.state(waits), "waiting");
  EXPECT_EQ(gpus_of(daemon)[0]["outage"], "an administrator closed it");
  EXPECT_EQ(daemon.ask("POST", "/v1/gpus/0/uncordon", {}, 0).status, 200);
  daemon.run_to(50);
  EXPECT_EQ(daemon.state(waits), "finished");
  EXPECT_EQ(state_of(daemon, 0), "idle");
}

TEST(Server, AGpuWithAnErrorOfTheDriverIsDownUntilTheErrorIsGone) {
  SimDaemon daemon("fifo", "2xV100");
  daemon.io.machine().set_gpus(2);
  daemon.fail(Outage::kDaemon);  // a daemon that knows the driver
  daemon.io.machine().gpu_report().errors[0] = "the NVIDIA driver no longer lists it";
  daemon.run_to(10);
  EXPECT_EQ(state_of(daemon, 0), "down");
  EXPECT_EQ(gpus_of(daemon)[0]["outage"], "the NVIDIA driver no longer lists it");
  const std::size_t both = daemon.submit({"work", "1000"}, 2);
  daemon.run_to(20);
  EXPECT_EQ(daemon.state(both), "waiting");
  daemon.io.machine().gpu_report().errors[0] = "";
  daemon.run_to(40);
  EXPECT_EQ(daemon.state(both), "finished");
}

TEST(Server, ADaemonGoesOnWithoutAGpuAndItsJobsMove) {
  SimDaemon daemon("gandiva-fair:quantum_s=60", "4xV100");
  std::vector<std::size_t> jobs;
  for (int i = 0; i < 6; ++i)
    jobs.push_back(daemon.submit({"work", "300000", "term=checkpoint:1", "every=1"}, 1,
                                 i % 2 == 0 ? kAnn : kBob));
  daemon.run_to(200);
  daemon.set_nodes("3xV100");
  daemon.fail(Outage::kDaemon);
  daemon.run_to(202);
  EXPECT_EQ(state_of(daemon, 3), "down");
  EXPECT_EQ(gpus_of(daemon)[3]["outage"], "the machine has no such GPU any more");
  daemon.run_to(1500);
  for (const std::size_t job : jobs) EXPECT_EQ(daemon.state(job), "finished") << job;
  daemon.set_nodes("6xV100");
  daemon.fail(Outage::kDaemon);
  daemon.run_to(1600);
  const json gpus = gpus_of(daemon);
  ASSERT_EQ(gpus.size(), 6U);
  for (const json& gpu : gpus) EXPECT_EQ(gpu["state"], "idle");
  daemon.fail(Outage::kPower);
  const std::size_t all = daemon.submit({"work", "1000"}, 1);
  daemon.run_to(1700);
  EXPECT_EQ(daemon.state(all), "finished");
  EXPECT_EQ(daemon.io.processes().problems(), std::vector<std::string>());
}

TEST(Server, ADaemonStartsJobsOnGpusThatAreNew) {
  SimDaemon daemon("fifo", "1xV100");
  daemon.set_nodes("2xV100");
  daemon.fail(Outage::kDaemon);
  for (int i = 0; i < 2; ++i) daemon.submit({"work", "60000"});
  daemon.run_to(10);
  EXPECT_EQ(daemon.state(0), "running");
  EXPECT_EQ(daemon.state(1), "running");
}

// Its process has no handler for SIGTERM, but cannot go on where it is.
TEST(Server, APinnedJobLeavesAGpuThatIsGone) {
  SimDaemon daemon("gandiva-fair:quantum_s=60", "2xV100");
  std::vector<std::size_t> jobs;
  for (int i = 0; i < 4; ++i) jobs.push_back(daemon.submit({"work", "300000"}));
  daemon.run_to(400);
  daemon.set_nodes("1xV100");
  daemon.fail(Outage::kDaemon);
  daemon.run_to(4000);
  for (const std::size_t job : jobs) EXPECT_EQ(daemon.state(job), "finished") << job;
}

// Another job still writes its checkpoint on GPU 0.
TEST(Server, AStartPrefersGpusThatNoJobIsLeaving) {
  SimDaemon daemon("fifo", "4xV100");
  const std::size_t leaves = daemon.submit({"work", "600000", "term=checkpoint:20000"});
  daemon.ask("POST", fmt::format("/v1/jobs/{}/cancel", leaves));
  const std::size_t starts = daemon.submit({"work", "5000"});
  daemon.run_to(2);
  EXPECT_EQ(daemon.state(starts), "running");
  daemon.run_to(8);
  const std::size_t all = daemon.submit({"work", "1000"}, 4);
  daemon.run_to(10);
  EXPECT_EQ(daemon.state(all), "starting");
  daemon.fail(Outage::kDaemon);
  daemon.run_to(60);
  EXPECT_EQ(daemon.state(all), "finished");
}

}  // namespace
}  // namespace fairlead
