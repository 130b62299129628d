// Jobs that train as copies (HadarE), on a machine in memory.

#include "fairlead/serve/testing_daemon.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace fairlead {
namespace {

constexpr const char* kNodes = "1xV100,1xP100,2xK80@0.2";
const nlohmann::json kAny = {{"copies_max", 0}};

std::vector<std::uint32_t> gpus_of(const SimDaemon& daemon, std::size_t job) {
  const SimTask* task = daemon.task(job);
  return task == nullptr ? std::vector<std::uint32_t>() : task->gpus;
}

TEST(ServerCopies, OneTaskHasTheGpusOfAllCopies) {
  SimDaemon daemon("hadare:switch_s=0", kNodes);
  const std::size_t job = daemon.submit({"work", "600000"}, 1, kAnn, kAny);
  EXPECT_EQ(gpus_of(daemon, job), (std::vector<std::uint32_t>{0, 1, 2}));
  EXPECT_EQ(daemon.job(job)["on"].size(), 3U);
  EXPECT_EQ(daemon.job(job)["copies_max"], 0);
  EXPECT_EQ(daemon.alive(job), std::pair(1, 1));
}

TEST(ServerCopies, AJobHasOneWhereItsUserSaysNothing) {
  SimDaemon daemon("hadare:switch_s=0", kNodes);
  const std::size_t job = daemon.submit({"work", "600000"});
  EXPECT_EQ(gpus_of(daemon, job).size(), 1U);
  const std::size_t two = daemon.submit({"work", "600000"}, 1, kAnn, {{"copies_max", 2}});
  EXPECT_EQ(gpus_of(daemon, two).size(), 2U);
}

TEST(ServerCopies, AreMadeByTheDefaultPolicyToo) {
  SimDaemon daemon(ServeOptions{}.policy, kNodes);
  const std::size_t job = daemon.submit({"work", "600000", "term=checkpoint:1000"}, 1, kAnn, kAny);
  EXPECT_EQ(gpus_of(daemon, job).size(), 1U);
  daemon.run_to(160);  // more copies start with a round
  EXPECT_EQ(gpus_of(daemon, job), (std::vector<std::uint32_t>{0, 1, 2}));
  const std::size_t other = daemon.submit({"work", "600000"}, 1, kBob);
  daemon.run_to(230);
  EXPECT_EQ(gpus_of(daemon, other).size(), 1U);
  EXPECT_EQ(daemon.alive(job), std::pair(1, 1));
}

TEST(ServerCopies, OtherPoliciesMakeNone) {
  SimDaemon daemon("fifo", kNodes);
  EXPECT_EQ(gpus_of(daemon, daemon.submit({"work", "600000"}, 1, kAnn, kAny)).size(), 1U);
}

TEST(ServerCopies, ADaemonThatStartsAnewFindsTheTaskWithAllCopies) {
  SimDaemon daemon("hadare:switch_s=0", kNodes);
  const std::size_t job = daemon.submit({"work", "600000"}, 1, kAnn, kAny);
  for (int i = 0; i < 3; ++i) daemon.fail(Outage::kDaemon);
  EXPECT_EQ(daemon.alive(job), std::pair(1, 1));
  EXPECT_EQ(daemon.job(job)["restarts"], 0);
  daemon.run_to(700);
  EXPECT_EQ(daemon.state(job), "finished");
  EXPECT_EQ(daemon.job(job)["restarts"], 0);
}

TEST(ServerCopies, AnotherSetOfCopiesIsAnotherTask) {
  SimDaemon daemon("hadare:switch_s=0,round_s=60", kNodes);
  const std::size_t job = daemon.submit({"work", "600000", "term=checkpoint:1000"}, 1, kAnn, kAny);
  EXPECT_EQ(gpus_of(daemon, job).size(), 3U);
  const std::string path = fmt::format("/v1/jobs/{}", job);
  daemon.ask("POST", path + "/hold");
  daemon.ask("POST", "/v1/nodes/P100/cordon", {}, 0);
  daemon.ask("POST", path + "/release");
  daemon.run_to(10);  // it had a second for its checkpoint
  EXPECT_EQ(gpus_of(daemon, job), (std::vector<std::uint32_t>{0, 2}));
  EXPECT_EQ(daemon.job(job)["restarts"], 1);
  EXPECT_EQ(daemon.alive(job), std::pair(1, 1));
}

TEST(ServerCopies, ItsUserIsToldWhatCannotBe) {
  SimDaemon daemon("hadare", kNodes);
  const auto ask = [&](const nlohmann::json& more) {
    nlohmann::json request = {{"command", {"work", "1"}}, {"folder", "/data"}};
    request.update(more);
    return daemon.ask("POST", "/v1/jobs", request);
  };
  EXPECT_EQ(ask({{"copies_max", -1}}).status, 400);
  EXPECT_EQ(ask({{"copies_max", 2}, {"processes", 2}}).body,
            "{\"error\":\"copies_max: a job with copies is one process, without a terminal\"}");
}

}  // namespace
}  // namespace fairlead
