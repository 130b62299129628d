// Jobs that state the GPU memory they need, and take turns only where they fit.

#include "fairlead/serve/testing_daemon.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace fairlead {
namespace {

using nlohmann::json;

constexpr const char* kTurns = "gandiva-fair:quantum_s=30";
const std::vector<std::string> kLong = {"work", "600000"};
const std::vector<std::string> kSaves = {"work", "600000", "term=checkpoint:1000"};

json needs(std::uint32_t mb) { return {{"gpu_memory_mb", mb}}; }

// A daemon on GPUs of that memory each.
struct MemoryDaemon : SimDaemon {
  MemoryDaemon(std::string policy, const char* nodes, std::vector<GpuMemory> memory)
      : SimDaemon(std::move(policy), nodes) {
    io.machine().set_gpus(static_cast<std::uint32_t>(memory.size()));
    io.machine().gpu_report().memory = std::move(memory);
    fail(Outage::kDaemon);  // a daemon that reads the report when it starts
  }
  // Returns the largest number of jobs that had processes at once, looked at each second until then.
  int most_at_once(int until_s, std::initializer_list<std::size_t> jobs) {
    int most = 0;
    for (int s = 10; s <= until_s; ++s) {
      run_to(s);
      int now = 0;
      for (const std::size_t job : jobs) now += alive(job).first;
      most = std::max(most, now);
    }
    return most;
  }
};

class ServerMemoryTurns : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Policies, ServerMemoryTurns,
                         testing::Values("gandiva-fair:quantum_s=30", "stride:quantum_s=30",
                                         "fairlead:resident=true,copies=0,window_s=300"),
                         [](const auto& param) {
                           return std::string(param.param,
                                              std::string_view(param.param).find_first_of("-:"));
                         });

TEST_P(ServerMemoryTurns, JobsThatFitStayInMemory) {
  MemoryDaemon daemon(GetParam(), "1xV100", {{80'000, 0}});
  const std::size_t ann = daemon.submit(kLong, 1, kAnn, needs(40'000));
  const std::size_t bob = daemon.submit(kLong, 1, kBob, needs(40'000));
  EXPECT_EQ(daemon.most_at_once(300, {ann, bob}), 2);
  EXPECT_GT(daemon.job(bob)["gpu_s"].get<double>(), 60);
}

TEST_P(ServerMemoryTurns, AJobGetsNoneBesideOneThatWouldLoseItsWork) {
  MemoryDaemon daemon(GetParam(), "1xV100", {{80'000, 0}});
  const std::size_t ann = daemon.submit(kLong, 1, kAnn, needs(50'000));
  const std::size_t bob = daemon.submit(kLong, 1, kBob, needs(40'000));
  EXPECT_EQ(daemon.most_at_once(590, {ann, bob}), 1);
  EXPECT_EQ(daemon.state(ann), "running");
  const std::string why = daemon.why(bob);
  EXPECT_NE(
      why.find("it starts when a GPU has 40 GB of memory free beside the jobs that stay there"),
      std::string::npos)
      << why;
  daemon.await(ann);
  daemon.await(bob);
  EXPECT_EQ(daemon.state(bob), "finished");
  EXPECT_EQ(daemon.io.processes().problems(), std::vector<std::string>());
}

TEST_P(ServerMemoryTurns, AJobThatCanSaveItsWorkLeavesForOneThatDoesNotFitBesideIt) {
  MemoryDaemon daemon(GetParam(), "1xV100", {{80'000, 0}});
  const std::size_t ann = daemon.submit(kSaves, 1, kAnn, needs(50'000));
  const std::size_t bob = daemon.submit(kSaves, 1, kBob, needs(40'000));
  daemon.run_to(300);
  EXPECT_EQ(daemon.most_at_once(320, {ann, bob}), 1);
  EXPECT_GT(daemon.job(ann)["gpu_s"].get<double>(), 60);
  EXPECT_GT(daemon.job(bob)["gpu_s"].get<double>(), 60);
  daemon.await(ann);
  daemon.await(bob);
  EXPECT_EQ(daemon.state(ann), "finished");
  EXPECT_EQ(daemon.state(bob), "finished");
  EXPECT_EQ(daemon.io.processes().problems(), std::vector<std::string>());
}

TEST(ServerMemory, AJobThatStatesNothingCountsAsTheDriverReports) {
  MemoryDaemon daemon(kTurns, "1xV100", {{80'000, 50'000}});
  const std::size_t ann = daemon.submit(kLong, 1, kAnn);
  const std::size_t bob = daemon.submit(kLong, 1, kBob, needs(40'000));
  const std::size_t third = daemon.submit(kLong, 1, 1002, needs(30'000));
  daemon.run_to(400);
  EXPECT_EQ(daemon.alive(bob).first, 0);
  EXPECT_EQ(daemon.alive(third).first, 1);
  EXPECT_EQ(daemon.alive(ann).first, 1);
}

TEST(ServerMemory, AJobGetsTheGpuOnWhichItFits) {
  MemoryDaemon daemon("fifo:skip=true", "2xV100", {{80'000, 0}, {80'000, 0}});
  daemon.io.machine().gpu_report().memory[0] = {16'000, 0};
  daemon.run_to(20);  // the daemon has looked again
  const std::size_t job = daemon.submit(kLong, 1, kAnn, needs(40'000));
  daemon.run_to(30);
  ASSERT_NE(daemon.task(job), nullptr);
  EXPECT_EQ(daemon.task(job)->gpus, std::vector<std::uint32_t>{1});
}

TEST(ServerMemory, OnlyTypesWithTheMemoryAreUsed) {
  MemoryDaemon daemon("fifo", "1xV100,1xH100", {{16'000, 0}, {80'000, 0}});
  const std::size_t job = daemon.submit(kLong, 1, kAnn, needs(40'000));
  const std::size_t next = daemon.submit(kLong, 1, kAnn, needs(40'000));
  daemon.run_to(30);
  EXPECT_EQ(daemon.state(job), "running");
  EXPECT_EQ(daemon.state(next), "waiting");
  ASSERT_NE(daemon.task(job), nullptr);
  EXPECT_EQ(daemon.task(job)->gpus, std::vector<std::uint32_t>{1});
  EXPECT_EQ(daemon.job(job)["gpu_memory_mb"], 40'000);
  const json too_large = {{"command", kLong}, {"folder", "/data"}, {"gpu_memory_mb", 80'001}};
  const HttpMessage answer = daemon.ask("POST", "/v1/jobs", too_large);
  EXPECT_EQ(answer.status, 400);
  EXPECT_NE(answer.body.find("no GPU that the job can use has more than 80000"), std::string::npos)
      << answer.body;
}

TEST(ServerMemory, ANewDaemonKnowsTheMemoryOfTheJobsThatItFinds) {
  MemoryDaemon daemon(kTurns, "1xV100", {{80'000, 0}});
  const std::size_t ann = daemon.submit(kLong, 1, kAnn, needs(50'000));
  daemon.run_to(20);
  daemon.fail(Outage::kDaemon);
  const std::size_t bob = daemon.submit(kLong, 1, kBob, needs(40'000));
  EXPECT_EQ(daemon.most_at_once(300, {ann, bob}), 1);
  daemon.fail(Outage::kDaemon);
  EXPECT_EQ(daemon.most_at_once(590, {ann, bob}), 1);
  EXPECT_EQ(daemon.state(ann), "running");
}

}  // namespace
}  // namespace fairlead
