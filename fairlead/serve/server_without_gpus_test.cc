// Jobs that need no GPU: they start as far as the machine has processors and memory for them.

#include "fairlead/serve/testing_daemon.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace fairlead {
namespace {

using nlohmann::json;

const std::vector<std::string> kLong = {"work", "600000"};
const std::vector<std::string> kShort = {"work", "60000"};

json cpus(double count) { return {{"cpus", count}}; }

// A daemon on a machine of 100 GB, 4 processors and one GPU.
struct HostDaemon : SimDaemon {
  explicit HostDaemon(std::string policy = "fifo") : SimDaemon(std::move(policy), "1xV100") {
    host = {.cpus = 4, .memory_mb = 100'000};
    fail(Outage::kDaemon);  // the daemon of that machine
  }
  std::size_t submit_without(const std::vector<std::string>& command, const json& more = {},
                             std::uint32_t uid = kAnn) {
    return submit(command, 0, uid, more.is_null() ? json::object() : more);
  }
  std::string reason(std::size_t id) { return job(id)["reason"].get<std::string>(); }
};

TEST(WithoutGpus, AJobStartsAtOnceBesideJobsThatWaitForGpus) {
  HostDaemon daemon;
  const std::size_t gpu = daemon.submit(kLong, 1);
  const std::size_t waits = daemon.submit(kLong, 1);
  const std::size_t job = daemon.submit_without(kShort);
  daemon.run_to(10);
  EXPECT_EQ(daemon.state(job), "running");
  EXPECT_EQ(daemon.state(gpu), "running");
  EXPECT_EQ(daemon.state(waits), "waiting");
  ASSERT_NE(daemon.task(job), nullptr);
  EXPECT_TRUE(daemon.task(job)->gpus.empty());
  const json view = daemon.job(job);
  EXPECT_EQ(view["gpus"], 0);
  EXPECT_EQ(view["cpus"], 1);
  EXPECT_EQ(view["on"], json::array());
  EXPECT_NE(daemon.why(job).find("It runs without GPUs, for "), std::string::npos)
      << daemon.why(job);
  daemon.await(job);
  EXPECT_EQ(daemon.state(job), "finished");
  EXPECT_EQ(daemon.job(job)["gpu_s"], 0);
  EXPECT_EQ(daemon.job(job)["restarts"], 0);
}

TEST(WithoutGpus, PoliciesAndTheirFiguresKnowOnlyJobsWithGpus) {
  HostDaemon daemon("fairlead:resident=true,notes=true");
  const std::size_t job = daemon.submit_without(kLong, {}, kBob);
  const std::size_t gpu = daemon.submit(kLong, 1, kAnn);
  daemon.run_to(100);
  const json users = json::parse(daemon.ask("GET", "/v1/users").body)["users"];
  ASSERT_EQ(users.size(), 2U);
  EXPECT_EQ(users[0]["name"], "user1001");
  EXPECT_EQ(users[0]["entitled_gpus"], 0);
  EXPECT_EQ(users[0]["held_gpus"], 0);
  EXPECT_EQ(users[0]["gpu_s"], 0);
  EXPECT_EQ(users[0]["jobs_running"], 1);
  EXPECT_EQ(users[1]["entitled_gpus"], 1);
  EXPECT_EQ(daemon.server->tables().running.members().size(), 1U);
  EXPECT_EQ(daemon.why(job).find("entitled"), std::string::npos) << daemon.why(job);
  const std::string usage = daemon.ask("GET", "/v1/usage?since_s=3600").body;
  EXPECT_EQ(usage.find("user1001"), std::string::npos) << usage;
  EXPECT_EQ(daemon.state(gpu), "running");
}

TEST(WithoutGpus, AJobWaitsForItsProcessorsInItsTurn) {
  HostDaemon daemon;
  const std::size_t three = daemon.submit_without(kShort, cpus(3));
  const std::size_t two = daemon.submit_without(kShort, cpus(2));
  const std::size_t one = daemon.submit_without(kShort);
  EXPECT_EQ(daemon.state(three), "running");
  EXPECT_EQ(daemon.state(two), "held");
  EXPECT_EQ(daemon.reason(two), "when other jobs leave it 2 of the machine's processors");
  EXPECT_EQ(daemon.state(one), "held");
  EXPECT_EQ(daemon.reason(one), fmt::format("after job {}, which comes first and waits for "
                                            "processors of the machine",
                                            two));
  EXPECT_NE(daemon.why(two).find("It waits to run without GPUs, for "), std::string::npos)
      << daemon.why(two);
  daemon.await(three);
  daemon.run_to(70);
  EXPECT_EQ(daemon.state(two), "running");
  EXPECT_EQ(daemon.state(one), "running");
  daemon.await(two);
  EXPECT_EQ(daemon.io.processes().problems(), std::vector<std::string>());
}

TEST(WithoutGpus, UsersTakeTurnsAtProcessors) {
  HostDaemon daemon;
  std::vector<std::size_t> anns;
  for (int i = 0; i < 8; ++i) anns.push_back(daemon.submit_without(kShort));
  const std::size_t bobs = daemon.submit_without({"work", "1000"}, {}, kBob);
  EXPECT_EQ(daemon.state(anns[3]), "running");
  EXPECT_EQ(daemon.state(bobs), "held");
  daemon.run_to(65);
  EXPECT_EQ(daemon.state(bobs), "finished");
  EXPECT_EQ(daemon.state(anns[6]), "running");
}

TEST(WithoutGpus, StatedProcessorsAndMemoryOfJobsWithGpusCount) {
  HostDaemon daemon;
  daemon.submit(kLong, 1, kBob, {{"cpus", 3.5}, {"memory_mb", 70'000}});
  const std::size_t job = daemon.submit_without({"work", "1000"});
  const std::size_t half = daemon.submit_without({"work", "1000"}, cpus(0.5), 1002);
  const std::size_t large =
      daemon.submit_without({"work", "1000"}, {{"cpus", 0.5}, {"memory_mb", 40'000}}, 1003);
  daemon.run_to(100);
  EXPECT_EQ(daemon.reason(job), "when other jobs leave it 1 of the machine's processors");
  EXPECT_EQ(daemon.state(half), "finished");
  EXPECT_EQ(daemon.reason(large), "when other jobs leave it 40 GB of the machine's memory");
  daemon.await(job);
  daemon.await(large);
  EXPECT_EQ(daemon.state(large), "finished");
}

TEST(WithoutGpus, MemoryIsKeptForAJobWithGpus) {
  HostDaemon daemon;
  const json some = {{"memory_mb", 40'000}};
  daemon.submit_without(kShort, some);
  daemon.submit_without({"work", "90000"}, some);
  const std::size_t gpu = daemon.submit({"work", "1000"}, 1, kBob, {{"memory_mb", 90'000}});
  const std::size_t next = daemon.submit_without(kShort, some);
  daemon.run_to(80);
  EXPECT_EQ(daemon.state(gpu), "held");
  EXPECT_EQ(daemon.state(next), "held");
  daemon.await(next);
  EXPECT_EQ(daemon.state(gpu), "finished");
}

TEST(WithoutGpus, AHeldJobIsFrozenAndGoesOn) {
  HostDaemon daemon;
  const std::size_t job = daemon.submit_without(kShort, cpus(4));
  const std::size_t other = daemon.submit_without({"work", "20000"}, cpus(4));
  daemon.run_to(20);
  EXPECT_EQ(daemon.act(job, "hold"), 200);
  daemon.run_to(25);
  EXPECT_EQ(daemon.alive(job), (std::pair{1, 0}));
  EXPECT_EQ(daemon.state(other), "running");
  EXPECT_EQ(daemon.act(job, "release"), 200);
  EXPECT_EQ(daemon.alive(job), (std::pair{1, 0})) << "the other job has its processors";
  daemon.await(other);
  daemon.run_to(60);
  EXPECT_EQ(daemon.alive(job), (std::pair{1, 1}));
  daemon.await(job);
  EXPECT_EQ(daemon.state(job), "finished");
  EXPECT_EQ(daemon.job(job)["restarts"], 0);
}

TEST(WithoutGpus, ItsTimeLimitCountsItsRunningTime) {
  HostDaemon daemon;
  const std::size_t job = daemon.submit_without(kLong, {{"limit_s", 60}});
  daemon.run_to(30);
  EXPECT_NE(daemon.why(job).find("Its time limit of 1m leaves it 3"), std::string::npos)
      << daemon.why(job);
  EXPECT_EQ(daemon.act(job, "hold"), 200);
  daemon.run_to(100);
  EXPECT_EQ(daemon.act(job, "release"), 200);
  daemon.run_to(120);
  EXPECT_EQ(daemon.state(job), "running");
  daemon.await(job);
  EXPECT_EQ(daemon.state(job), "failed");
  EXPECT_EQ(daemon.reason(job), "time limit of 1m reached");
}

TEST(WithoutGpus, RetriesConditionsAndArraysHold) {
  HostDaemon daemon;
  const std::size_t bad =
      daemon.submit_without({"work", "5000", "exit=1", "times=1"}, {{"retries", 1}});
  const json array = {{"command", {"work", "5000"}},
                      {"folder", "/data"},
                      {"gpus", 0},
                      {"after_ok", {bad}},
                      {"at_once", 1},
                      {"tasks", {{{"array_index", 1}}, {{"array_index", 2}}}}};
  EXPECT_EQ(daemon.ask("POST", "/v1/jobs", array).status, 201);
  const std::size_t then = daemon.submit(kShort, 1, kAnn, {{"after_ok", {bad + 2}}});
  daemon.await(bad);
  EXPECT_EQ(daemon.state(bad), "finished");
  EXPECT_EQ(daemon.job(bad)["restarts"], 1);
  daemon.run_to(17);
  EXPECT_EQ(daemon.state(bad + 1), "finished");
  EXPECT_EQ(daemon.reason(bad + 2), "");
  EXPECT_EQ(daemon.state(then), "held");
  daemon.await(then);
  EXPECT_EQ(daemon.state(then), "finished");
}

TEST(WithoutGpus, ANewDaemonGoesOnWithThem) {
  for (const Outage outage : {Outage::kDaemon, Outage::kPower}) {
    HostDaemon daemon("gandiva-fair:quantum_s=30");
    const std::size_t job = daemon.submit_without(kShort, cpus(3));
    const std::size_t next = daemon.submit_without(kShort, cpus(3), kBob);
    const std::size_t gpu = daemon.submit(kShort, 1);
    daemon.run_to(20);
    daemon.fail(outage);
    const Result<bool> first = daemon.server->step();
    ASSERT_TRUE(first.has_value()) << first.error().message;
    daemon.run_to(30);
    EXPECT_EQ(daemon.state(job), "running");
    EXPECT_EQ(daemon.alive(job), (std::pair{1, 1}));
    EXPECT_EQ(daemon.state(next), "held");
    daemon.await(job);
    daemon.await(next);
    daemon.await(gpu);
    EXPECT_EQ(daemon.state(job), "finished");
    EXPECT_EQ(daemon.state(next), "finished");
    EXPECT_EQ(daemon.io.processes().problems(), std::vector<std::string>());
  }
}

TEST(WithoutGpus, ALimitOfGpusAndAnOrderOfGpusDoNotHoldThem) {
  HostDaemon daemon;
  EXPECT_EQ(daemon.ask("PUT", "/v1/users/user1000", {{"max_gpus", 1}}, 0).status, 200);
  daemon.submit(kLong, 1, kAnn, {{"priority", "high"}});
  daemon.submit(kLong, 1, kAnn, {{"priority", "high"}});
  const std::size_t job = daemon.submit_without(kShort, {{"priority", "low"}});
  daemon.run_to(5);
  EXPECT_EQ(daemon.state(job), "running");
  EXPECT_EQ(daemon.act(job, "cancel"), 200);
  daemon.run_to(10);
  EXPECT_EQ(daemon.state(job), "cancelled");
  EXPECT_EQ(daemon.alive(job).first, 0);
}

TEST(WithoutGpus, WhatOnlyGpusHaveIsRefused) {
  HostDaemon daemon;
  for (const auto& [field, value] : {std::pair<const char*, json>("types", {"V100"}),
                                     {"gpu_memory_mb", 1000},
                                     {"idle_end_s", 600},
                                     {"checkpoint_every_s", 60},
                                     {"copies_max", 2}}) {
    const json request = {{"command", {"work"}}, {"folder", "/data"}, {"gpus", 0}, {field, value}};
    const HttpMessage answer = daemon.ask("POST", "/v1/jobs", request);
    EXPECT_EQ(answer.status, 400) << field;
    EXPECT_NE(answer.body.find("a job without GPUs has n"), std::string::npos) << answer.body;
  }
}

}  // namespace
}  // namespace fairlead
