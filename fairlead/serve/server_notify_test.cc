// Notifications about the ends of jobs, on a machine in memory.

#include "fairlead/serve/testing_daemon.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace fairlead {
namespace {

using nlohmann::json;

const json kEnd = {{"notify", "end"}};
const json kFail = {{"notify", "fail"}};
const char* const kCommand = "notify-me";

struct NotifyingDaemon : SimDaemon {
  NotifyingDaemon() : SimDaemon("fifo", "4xV100") {
    notify = kCommand;
    fail(Outage::kDaemon);
  }
};

// Returns the jobs of all notifications, in order.
std::vector<std::size_t> notified(SimIo& io) {
  std::vector<std::size_t> jobs;
  for (const Notification& one : io.machine().notifications()) jobs.push_back(one.job.row());
  return jobs;
}

TEST(Notify, TheEndsThatAJobAsksForStartTheCommandWithTheJob) {
  NotifyingDaemon daemon;
  const std::size_t good = daemon.submit({"work", "1000"}, 1, kAnn, kEnd);
  EXPECT_EQ(daemon.job(good)["notify"], "end");
  daemon.await(daemon.submit({"work", "1000"}, 1, kAnn, kFail));
  daemon.await(daemon.submit({"work", "1000", "exit=3"}));
  const std::size_t bad =
      daemon.submit({"work", "1000", "exit=3"}, 1, kBob, {{"notify", "fail"}, {"name", "träin"}});
  daemon.await(bad);
  daemon.run_to(60);
  ASSERT_EQ(notified(daemon.io), (std::vector<std::size_t>{good, bad}));
  const Notification& last = daemon.io.machine().notifications().back();
  EXPECT_EQ(last.command, kCommand);
  const std::string text = fmt::format("gpu1: job {} (träin) of user1001 failed: exit code 3", bad);
  EXPECT_EQ(last.variables, (std::vector<std::string>{
                                fmt::format("FAIRLEAD_JOB_ID={}", bad), "FAIRLEAD_USER=user1001",
                                "FAIRLEAD_STATE=failed", "FAIRLEAD_TEXT=" + text}));
  const json message = json::parse(last.input);
  EXPECT_EQ(message["text"], text);
  EXPECT_EQ(message["host"], "gpu1");
  EXPECT_EQ(message["job"]["exit_code"], 3);
  EXPECT_EQ(message["job"]["user"], "user1001");
}

TEST(Notify, ACancelByItsOwnUserIsNoFailure) {
  NotifyingDaemon daemon;
  const std::size_t own = daemon.submit({"work", "100000"}, 1, kAnn, kFail);
  const std::size_t others = daemon.submit({"work", "100000"}, 1, kAnn, kFail);
  const std::size_t after =
      daemon.submit({"work", "1"}, 1, kAnn, {{"notify", "fail"}, {"after_ok", json::array({own})}});
  EXPECT_EQ(daemon.act(own, "cancel"), 200);
  EXPECT_EQ(daemon.ask("POST", fmt::format("/v1/jobs/{}/cancel", others), {}, 0).status, 200);
  daemon.run_to(60);
  std::vector<std::size_t> jobs = notified(daemon.io);
  std::ranges::sort(jobs);
  EXPECT_EQ(jobs, (std::vector<std::size_t>{others, after}));
  EXPECT_EQ(daemon.job(others)["reason"], "by an administrator");
  EXPECT_EQ(daemon.job(own)["reason"], "");
}

TEST(Notify, TheTextIsOneLine) {
  NotifyingDaemon daemon;
  daemon.await(
      daemon.submit({"work", "1"}, 1, kAnn, {{"notify", "end"}, {"command", {"no\nprogram"}}}));
  daemon.run_to(60);
  ASSERT_EQ(daemon.io.machine().notifications().size(), 1U);
  EXPECT_EQ(daemon.io.machine().notifications()[0].variables.back().find('\n'), std::string::npos);
}

TEST(Notify, WithoutACommandOfTheAdministratorItIsRefused) {
  SimDaemon daemon("fifo", "1xV100");
  json request = {{"command", {"work", "1"}}, {"folder", "/data"}, {"notify", "end"}};
  const HttpMessage answer = daemon.ask("POST", "/v1/jobs", request);
  EXPECT_EQ(answer.status, 400);
  EXPECT_NE(answer.body.find("serve --notify"), std::string::npos) << answer.body;
  request["notify"] = "never";
  EXPECT_EQ(daemon.ask("POST", "/v1/jobs", request).status, 201);
}

TEST(Notify, OfAnUnknownKindIsRefused) {
  NotifyingDaemon daemon;
  for (const json& value : {json("often"), json(1), json(nullptr)}) {
    const json request = {{"command", {"work"}}, {"folder", "/"}, {"notify", value}};
    EXPECT_EQ(daemon.ask("POST", "/v1/jobs", request).status, 400) << value;
  }
}

TEST(Notify, AJobThatEndedWhileNoDaemonRanIsReportedByTheNextOne) {
  NotifyingDaemon daemon;
  const std::size_t job = daemon.submit({"work", "5000"}, 1, kAnn, kEnd);
  daemon.run_to(3);
  daemon.fail(Outage::kDaemon, seconds(60));
  daemon.run_to(90);
  EXPECT_EQ(notified(daemon.io), std::vector<std::size_t>{job});
  daemon.fail(Outage::kPower);
  daemon.run_to(120);
  EXPECT_EQ(notified(daemon.io), std::vector<std::size_t>{job});
}

// A daemon crashes at each of its calls around the ends of three jobs in turn: a job is never notified twice, and not
// notified only if the crash came between the last write before the command and the command.
TEST(Notify, IsSentAtMostOnceWhereverTheDaemonCrashes) {
  for (const Outage outage : {Outage::kDaemon, Outage::kPower}) {
    int lost = 0;
    for (std::uint64_t calls = 0;; ++calls) {
      NotifyingDaemon daemon;
      std::vector<std::size_t> jobs;
      for (const char* work : {"1000", "1000", "2000"})
        jobs.push_back(daemon.submit({"work", work, "term=ignore"}, 1, kAnn, kEnd));
      daemon.run_to(2);
      EXPECT_EQ(daemon.act(jobs[2], "cancel"), 200);
      daemon.io.calls().crash_after(calls);
      const Time until = daemon.io.time() + seconds(60);
      const ConnectionId connection = daemon.io.network().connect({});
      daemon.io.network().hang_up(connection, seconds(60));
      while (!daemon.io.calls().is_dead() && daemon.io.time() < until &&
             daemon.server->step().value_or(false)) {
      }
      const bool has_crashed = daemon.io.calls().is_dead();
      daemon.fail(outage);
      daemon.run_to(200);
      std::vector<std::size_t> told = notified(daemon.io);
      std::ranges::sort(told);
      ASSERT_EQ(std::ranges::adjacent_find(told), told.end()) << "crash after " << calls;
      ASSERT_GE(told.size(), 2U) << "crash after " << calls;
      lost += told.size() == 2 ? 1 : 0;
      if (!has_crashed) break;
    }
    EXPECT_LE(lost, 3) << "a crash for each job";
  }
}

}  // namespace
}  // namespace fairlead
