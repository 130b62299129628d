// Jobs that state the memory and the processors of the machine that they need.

#include "fairlead/serve/testing_daemon.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace fairlead {
namespace {

using nlohmann::json;

const std::vector<std::string> kLong = {"work", "600000"};
const std::vector<std::string> kShort = {"work", "60000"};

json needs(std::uint32_t mb) { return {{"memory_mb", mb}}; }

// A daemon on a machine of 100 GB and 8 processors.
struct LimitsDaemon : SimDaemon {
  explicit LimitsDaemon(const char* nodes, std::string policy = "fifo:skip=true")
      : SimDaemon(std::move(policy), nodes) {
    host = {.cpus = 8, .memory_mb = 100'000};
    fail(Outage::kDaemon);  // the daemon of that machine
  }
};

TEST(ServerLimits, AJobIsHeldWhileItsMemoryIsNotFree) {
  LimitsDaemon daemon("3xV100");
  const std::size_t ann = daemon.submit(kShort, 1, kAnn, needs(60'000));
  const std::size_t bob = daemon.submit(kShort, 1, kBob, needs(50'000));
  const std::size_t small = daemon.submit(kShort, 1, kBob, needs(40'000));
  daemon.run_to(30);
  EXPECT_EQ(daemon.state(ann), "running");
  EXPECT_EQ(daemon.state(bob), "held");
  EXPECT_EQ(daemon.state(small), "running");
  const std::string why = daemon.why(bob);
  EXPECT_NE(why.find("it starts when other jobs leave it 50 GB of the machine's memory"),
            std::string::npos)
      << why;
  EXPECT_NE(why.find("It may have 50 GB of the machine's memory."), std::string::npos) << why;
  daemon.await(bob);
  EXPECT_EQ(daemon.state(bob), "finished");
  EXPECT_EQ(daemon.job(ann)["restarts"], 0);
}

TEST(ServerLimits, ASuspendedJobKeepsItsMemory) {
  LimitsDaemon daemon("1xV100", "gandiva-fair:quantum_s=30");
  const std::size_t ann = daemon.submit(kLong, 1, kAnn, needs(60'000));
  const std::size_t bob = daemon.submit(kLong, 1, kBob);
  const std::size_t third = daemon.submit(kLong, 1, 1002, needs(50'000));
  for (int s = 10; s <= 300; ++s) {
    daemon.run_to(s);
    ASSERT_EQ(daemon.alive(third).first, 0) << s;
  }
  EXPECT_GT(daemon.job(ann)["gpu_s"].get<double>(), 60);
  EXPECT_GT(daemon.job(bob)["gpu_s"].get<double>(), 60);
  daemon.await(third);
  EXPECT_EQ(daemon.state(third), "finished");
}

TEST(ServerLimits, OfJobsReleasedTogetherOnlyThoseThatFitStart) {
  LimitsDaemon daemon("3xV100");
  daemon.submit(kShort, 1, kAnn, needs(100'000));
  const std::size_t bob = daemon.submit(kShort, 1, kBob, needs(60'000));
  const std::size_t third = daemon.submit(kShort, 1, 1002, needs(60'000));
  daemon.run_to(80);
  EXPECT_EQ(daemon.alive(bob).first + daemon.alive(third).first, 1);
  daemon.await(bob);
  daemon.await(third);
  EXPECT_EQ(daemon.state(bob), "finished");
  EXPECT_EQ(daemon.state(third), "finished");
  EXPECT_EQ(daemon.io.processes().problems(), std::vector<std::string>());
}

TEST(ServerLimits, ANewDaemonKnowsTheMemoryOfTheJobsThatItFinds) {
  LimitsDaemon daemon("2xV100");
  const std::size_t ann = daemon.submit(kLong, 1, kAnn, needs(60'000));
  daemon.run_to(20);
  daemon.fail(Outage::kDaemon);
  const std::size_t bob = daemon.submit(kLong, 1, kBob, needs(50'000));
  daemon.run_to(40);
  daemon.fail(Outage::kDaemon);
  daemon.run_to(60);
  EXPECT_EQ(daemon.state(ann), "running");
  EXPECT_EQ(daemon.state(bob), "held");
  EXPECT_EQ(daemon.alive(bob).first, 0);
}

TEST(ServerLimits, ACancelledJobCountsUntilItsProcessesHaveEnded) {
  LimitsDaemon daemon("2xV100");
  const std::size_t ann =
      daemon.submit({"work", "600000", "term=checkpoint:20000"}, 1, kAnn, needs(60'000));
  daemon.run_to(20);
  EXPECT_EQ(daemon.ask("POST", fmt::format("/v1/jobs/{}/cancel", ann), {}, kAnn).status, 200);
  const std::size_t bob = daemon.submit(kLong, 1, kBob, needs(50'000));
  for (int s = 21; s <= 60; ++s) {
    if (s == 23 || s == 25) daemon.fail(Outage::kDaemon);
    daemon.run_to(s);
    ASSERT_LE(daemon.alive(ann).first + daemon.alive(bob).first, 1) << s;
  }
  EXPECT_EQ(daemon.alive(bob).first, 1);
}

TEST(ServerLimits, AJobShowsItsLimits) {
  LimitsDaemon daemon("1xV100");
  const std::size_t job = daemon.submit(kLong, 1, kAnn, {{"memory_mb", 500}, {"cpus", 1.5}});
  daemon.run_to(20);
  EXPECT_EQ(daemon.job(job)["memory_mb"], 500);
  EXPECT_EQ(daemon.job(job)["cpus"], 1.5);
  const std::string why = daemon.why(job);
  EXPECT_NE(why.find("It may use 1.5 of the machine's processors."), std::string::npos) << why;
}

TEST(ServerLimits, MoreThanTheMachineHasIsRefused) {
  LimitsDaemon daemon("1xV100");
  const auto refusal = [&](const char* field, const json& value) {
    const HttpMessage answer =
        daemon.ask("POST", "/v1/jobs", {{"command", kLong}, {"folder", "/data"}, {field, value}});
    EXPECT_EQ(answer.status, 400);
    return answer.body;
  };
  EXPECT_NE(refusal("memory_mb", 100'001).find("memory_mb: 100001, and this machine has 100000"),
            std::string::npos);
  EXPECT_NE(refusal("cpus", 8.5).find("cpus: 8.5, and this machine has 8"), std::string::npos);
  EXPECT_NE(refusal("cpus", 0.001).find("cpus must be a number from 0.01"), std::string::npos);
  EXPECT_NE(refusal("cpus", "4").find("cpus must be a number"), std::string::npos);
  EXPECT_NE(refusal("memory_mb", 0.5).find("memory_mb must be a whole number"), std::string::npos);
}

}  // namespace
}  // namespace fairlead
