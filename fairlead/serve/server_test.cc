// The daemon on a machine in memory: what users can count on.

#include "fairlead/serve/testing_daemon.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace fairlead {
namespace {

using nlohmann::json;

// Its policy has asked for no turn yet, and nothing else happens.
TEST(Server, ADaemonThatStartsAnewDecidesAtOnce) {
  SimDaemon daemon("gandiva-fair:quantum_s=60", "1xV100");
  daemon.submit({"work", "100000000"});
  const std::size_t second = daemon.submit({"work", "100000000"});
  daemon.fail(Outage::kDaemon, hours(1));
  daemon.run_to(3600 + 1200);
  // It makes up for the hour that the first had.
  EXPECT_GT(daemon.job(second)["gpu_s"], 1'100.0);
}

TEST(Server, AJobRunsAndItsEndIsKnown) {
  SimDaemon daemon;
  const std::size_t good = daemon.submit({"work", "5000"});
  const std::size_t bad = daemon.submit({"work", "5000", "exit=3"});
  EXPECT_EQ(daemon.state(good), "running");
  daemon.run_to(20);
  EXPECT_EQ(daemon.state(good), "finished");
  EXPECT_EQ(daemon.job(bad)["exit_code"], 3);
  EXPECT_EQ(daemon.state(bad), "failed");
  EXPECT_TRUE(daemon.io.tasks().empty());
  EXPECT_TRUE(daemon.io.list("jobs").empty());
}

TEST(Server, UsersTakeTurnsAndProcessesAreFrozenMeanwhile) {
  SimDaemon daemon;
  const std::size_t ann = daemon.submit({"work", "600000"}, 2, kAnn);
  const std::size_t bob = daemon.submit({"work", "600000"}, 2, kBob);
  daemon.run_to(600);
  const int thawed = daemon.alive(ann).second + daemon.alive(bob).second;
  EXPECT_EQ(thawed, 1);
  EXPECT_EQ(daemon.alive(ann).first, 1);
  EXPECT_EQ(daemon.alive(bob).first, 1);
  const double of_ann = daemon.job(ann)["gpu_s"].get<double>();
  const double of_bob = daemon.job(bob)["gpu_s"].get<double>();
  EXPECT_NEAR(of_ann, of_bob, 2 * 60 * 2);  // a quantum of the gang
  EXPECT_NEAR(of_ann + of_bob, 600 * 2, 10);
}

TEST(Server, WhyTellsWhatItsUserIsDueAndHasHad) {
  SimDaemon daemon("gandiva-fair:quantum_s=60,notes=true");
  daemon.submit({"work", "9000000"}, 2, kAnn);
  const std::size_t late = daemon.submit({"work", "9000000"}, 2, kBob);
  daemon.run_to(601);
  const auto why = [&] { return daemon.ask("GET", fmt::format("/v1/jobs/{}/why", late)).body; };
  const std::string line = "user1001 is due 1.00 of 2 GPUs under gandiva-fair, and has had ";
  EXPECT_NE(why().find(line), std::string::npos) << why();
  daemon.fail(Outage::kDaemon);
  EXPECT_NE(why().find(line), std::string::npos) << why();
}

TEST(Server, WhyNamesTheSensorThatMeasuredTheSpeed) {
  SimDaemon daemon;
  const std::size_t job = daemon.submit({"work", "9000000", "every=1"}, 1, kAnn);
  const auto why = [&] { return daemon.ask("GET", fmt::format("/v1/jobs/{}/why", job)).body; };
  const std::string line = "speed: 1000 units/s, measured from its progress reports";
  EXPECT_EQ(why().find(line), std::string::npos) << why();
  EXPECT_TRUE(daemon.job(job)["speed"].is_null());
  for (int life = 0; life < 2; ++life) {
    daemon.run_to(30 * (life + 1));
    EXPECT_NE(why().find(line), std::string::npos) << why();
    const nlohmann::json speed = {{"unit_per_s", 1000.0}, {"unit", "units"}, {"sensor", "reports"}};
    EXPECT_EQ(daemon.job(job)["speed"], speed);
    daemon.fail(Outage::kDaemon);  // the next one measures again
  }
}

TEST(Server, AJobMayBeWithoutTheHook) {
  SimDaemon daemon;
  const std::size_t job = daemon.submit({"work", "9000000"}, 1, kAnn, {{"hook", false}});
  const std::string kept = daemon.io.read(fmt::format("jobs/{}", job)).value();
  EXPECT_NE(kept.find("\"has_hook\":false"), std::string::npos) << kept;
  const nlohmann::json bad = {{"command", {"work"}}, {"folder", "/data"}, {"hook", "no"}};
  EXPECT_EQ(daemon.ask("POST", "/v1/jobs", bad).status, 400);
}

TEST(Server, WhyHasTheCauseOfAWaitAndOfTheLastStop) {
  SimDaemon daemon("gang-stride:quantum_s=60");
  const std::size_t ann = daemon.submit({"work", "9000000"}, 2, kAnn);
  const std::size_t bob = daemon.submit({"work", "9000000"}, 2, kBob);
  daemon.run_to(50);
  const auto why = [&](std::size_t job) {
    const std::string body = daemon.ask("GET", fmt::format("/v1/jobs/{}/why", job)).body;
    return nlohmann::json::parse(body, nullptr, false);
  };
  EXPECT_EQ(why(ann)["cause"], nullptr);
  EXPECT_EQ(why(bob)["cause"], "full");
  daemon.run_to(200);
  const std::size_t stopped = why(ann)["cause"].is_null() ? bob : ann;
  const std::string lines = why(stopped)["lines"].dump();
  EXPECT_NE(lines.find("It was stopped because its turn was over."), std::string::npos) << lines;
}

TEST(Server, AUserIsEntitledToNoMoreThanItAsksFor) {
  SimDaemon daemon("gandiva-fair:quantum_s=60");
  const std::size_t job = daemon.submit({"work", "9000000"}, 1, kAnn);
  daemon.run_to(61);
  const std::string why = daemon.ask("GET", fmt::format("/v1/jobs/{}/why", job)).body;
  EXPECT_NE(why.find("user1000 has 1 ticket, is entitled to 1.00 of 2 GPUs now"), std::string::npos)
      << why;
}

TEST(Server, WhatWasAcknowledgedOutlivesAPowerCut) {
  SimDaemon daemon("fifo");
  const std::size_t first = daemon.submit({"work", "60000"}, 2);
  const std::size_t second = daemon.submit({"work", "60000"}, 2);
  daemon.fail(Outage::kPower);
  EXPECT_EQ(daemon.job(second)["user"], "user1000");
  daemon.run_to(600);
  EXPECT_EQ(daemon.state(first), "finished");
  EXPECT_EQ(daemon.state(second), "finished");
}

TEST(Server, JobsRunOnWithoutTheDaemonAndAreFoundAgain) {
  SimDaemon daemon("fifo");
  const std::size_t running = daemon.submit({"work", "60000"}, 1);
  const std::size_t ends_meanwhile = daemon.submit({"work", "10000"}, 1);
  const std::size_t waits = daemon.submit({"work", "1000"}, 2);
  daemon.fail(Outage::kDaemon, seconds(30));
  EXPECT_EQ(daemon.state(running), "running");
  EXPECT_EQ(daemon.alive(running), std::pair(1, 1));
  EXPECT_EQ(daemon.state(ends_meanwhile), "finished");
  EXPECT_EQ(daemon.state(waits), "waiting");
  daemon.run_to(100);
  EXPECT_EQ(daemon.state(waits), "finished");
  EXPECT_EQ(daemon.job(running)["restarts"], 0);
}

TEST(Server, AJobThatHasHadItsTimeIsAskedToLeaveAndHasFailed) {
  SimDaemon daemon("fifo", "1xV100");
  const std::size_t polite =
      daemon.submit({"work", "600000", "term=checkpoint:2000"}, 1, kAnn, {{"limit_s", 90}});
  const std::size_t next = daemon.submit({"work", "1000"});
  EXPECT_EQ(daemon.job(polite)["limit_s"], 90);
  daemon.run_to(89);
  EXPECT_EQ(daemon.state(polite), "running");
  daemon.run_to(91);
  EXPECT_EQ(daemon.state(polite), "failed");
  EXPECT_EQ(daemon.job(polite)["reason"], "time limit of 1m 30s reached");
  EXPECT_NEAR(daemon.job(polite)["gpu_s"].get<double>(), 90, 0.01);
  EXPECT_EQ(daemon.alive(polite), std::pair(1, 1));
  EXPECT_EQ(daemon.alive(next).first, 0);
  daemon.run_to(100);
  EXPECT_EQ(daemon.state(next), "finished");
  const std::size_t deaf =
      daemon.submit({"work", "600000", "term=ignore"}, 1, kAnn, {{"limit_s", 10}});
  daemon.run_to(135);
  EXPECT_EQ(daemon.alive(deaf).first, 1);
  daemon.run_to(145);
  EXPECT_EQ(daemon.alive(deaf).first, 0);
}

TEST(Server, ATimeLimitIsRoundedToTheMillisecond) {
  SimDaemon daemon("fifo", "1xV100");
  const std::size_t job = daemon.submit({"work", "600000"}, 1, kAnn, {{"limit_s", 32.3}});
  EXPECT_EQ(daemon.job(job)["limit_s"], 32.3);  // 32.3 x 1000 is below 32,300 in binary
}

TEST(Server, OnlyTimeWithGpusCountsForALimit) {
  SimDaemon daemon("gandiva-fair:quantum_s=60", "1xV100");
  const std::size_t limited = daemon.submit({"work", "600000"}, 1, kAnn, {{"limit_s", 200}});
  daemon.submit({"work", "600000"}, 1, kBob);
  daemon.run_to(300);
  EXPECT_LT(daemon.job(limited)["gpu_s"], 200.0);
  daemon.run_to(600);
  EXPECT_EQ(daemon.state(limited), "failed");
  EXPECT_NEAR(daemon.job(limited)["gpu_s"].get<double>(), 200, 0.01);
}

TEST(Server, ATimeLimitOutlivesDaemons) {
  SimDaemon daemon("fifo", "1xV100");
  const std::size_t soon = daemon.submit({"work", "600000"}, 1, kAnn, {{"limit_s", 100}});
  daemon.run_to(50);
  daemon.fail(Outage::kDaemon);
  daemon.run_to(98);
  EXPECT_EQ(daemon.state(soon), "running");
  daemon.run_to(101);
  EXPECT_EQ(daemon.state(soon), "failed");
  const std::size_t meanwhile = daemon.submit({"work", "600000"}, 1, kAnn, {{"limit_s", 100}});
  daemon.fail(Outage::kDaemon, seconds(150));
  daemon.run_to(260);
  EXPECT_EQ(daemon.state(meanwhile), "failed");
}

TEST(Server, AJobThatEndsBadlyIsStartedAgainAsOftenAsItMay) {
  SimDaemon daemon("fifo", "1xV100");
  const std::size_t heals =
      daemon.submit({"work", "5000", "exit=3", "times=2", "retries=2"}, 1, kAnn, {{"retries", 2}});
  EXPECT_EQ(daemon.job(heals)["retries_left"], 2);
  daemon.run_to(6);
  EXPECT_EQ(daemon.state(heals), "running");
  EXPECT_EQ(daemon.job(heals)["retries_left"], 1);
  EXPECT_EQ(daemon.job(heals)["restarts"], 1);
  EXPECT_EQ(daemon.job(heals)["reason"], "1 of 2 retries used");
  const std::string why = daemon.ask("GET", fmt::format("/v1/jobs/{}/why", heals)).body;
  EXPECT_NE(why.find("It has ended badly 1 time, and was started again; 1 of 2 retries are left."),
            std::string::npos)
      << why;
  EXPECT_EQ(why.find("other GPUs"), std::string::npos) << why;
  daemon.run_to(30);
  EXPECT_EQ(daemon.state(heals), "finished");
  EXPECT_EQ(daemon.job(heals)["restarts"], 2);
  const std::size_t never =
      daemon.submit({"work", "5000", "exit=4", "retries=2"}, 1, kAnn, {{"retries", 2}});
  daemon.run_to(60);
  EXPECT_EQ(daemon.state(never), "failed");
  EXPECT_EQ(daemon.job(never)["exit_code"], 4);
  EXPECT_EQ(daemon.job(never)["restarts"], 2);
  EXPECT_TRUE(daemon.io.processes().problems().empty());
}

TEST(Server, ARetryIsNeitherForACancelledJobNorForOneWithoutMoreTime) {
  SimDaemon daemon;
  const json more = {{"retries", 5}, {"limit_s", 10}};
  const std::size_t cancelled = daemon.submit({"work", "600000", "retries=5"}, 1, kAnn, more);
  const std::size_t overlong = daemon.submit({"work", "600000", "retries=5"}, 1, kAnn, more);
  daemon.ask("POST", fmt::format("/v1/jobs/{}/cancel", cancelled));
  daemon.run_to(60);
  EXPECT_EQ(daemon.state(cancelled), "cancelled");
  EXPECT_EQ(daemon.state(overlong), "failed");
  EXPECT_EQ(daemon.io.processes().started(), 2U);
}

// Also between the count of a retry, the record of it, and the next start.
TEST(Server, WhereverTheDaemonGoesAJobHasAllItsRetriesAndNoMore) {
  for (const auto outage : {Outage::kDaemon, Outage::kPower}) {
    for (std::uint64_t calls = 0; calls <= 40; ++calls) {
      SimDaemon daemon("fifo");
      const std::size_t job = daemon.submit({"work", "5000", "every=1", "exit=3", "retries=2"}, 1,
                                            kAnn, {{"retries", 2}});
      daemon.run_to(4);
      daemon.io.calls().crash_after(calls);
      while (daemon.server->step().value_or(false) && daemon.io.time() < Time{} + seconds(60)) {
      }
      daemon.fail(outage);
      daemon.run_to(120);
      EXPECT_EQ(daemon.state(job), "failed") << calls;
      EXPECT_EQ(daemon.io.processes().problems(), std::vector<std::string>()) << calls;
      EXPECT_TRUE(daemon.io.processes().has_failed(JobId(job))) << calls;
    }
  }
}

// The power goes at every call in turn, from the daemon's first on.
TEST(Server, WhereverThePowerGoesAFolderThatIsNewCanBeOpenedAgain) {
  const ServeOptions options{.machine = stand_in_machine("2xV100").value()};
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    for (std::uint64_t calls = 0; calls <= 10; ++calls) {
      SimIo io(seed, {});
      io.calls().crash_after(calls);
      static_cast<void>(Server::open(io, options));
      io.restart(Outage::kPower, seconds(1));
      const auto opened = Server::open(io, options);
      EXPECT_TRUE(opened.has_value()) << seed << ' ' << calls << ": " << opened.error().message;
    }
  }
}

// A bit of each byte in turn: of the beginning, of headers, of contents, and of the last block.
TEST(Server, ABitThatTheDiskFlipsInTheJournalCostsNothing) {
  SimDaemon daemon("fifo");
  const std::size_t job = daemon.submit({"work", "500000"});
  const auto size = daemon.io.disk().find("journal.flj")->size();
  for (std::uint64_t at = 0; at < size; at += 3) {
    daemon.server.reset();
    daemon.io.disk().flip_bit("journal.flj", 8 * at + at % 8);
    daemon.fail(Outage::kDaemon, milliseconds(1));
    ASSERT_NE(daemon.server->beginning().find("went on with 1 jobs; its journal was damaged"),
              std::string::npos)
        << at << ": " << daemon.server->beginning();
    ASSERT_EQ(daemon.alive(job), std::pair(1, 1)) << at;
  }
}

// Two bits of a block that others follow: there is nothing to go on from.
TEST(Server, AJournalThatIsDamagedMoreIsNotGuessedAt) {
  SimDaemon daemon("fifo");
  for (int i = 0; i < 3; ++i) daemon.submit({"work", "500000"});
  daemon.server.reset();
  daemon.io.disk().flip_bit("journal.flj", 8 * 40);
  daemon.io.disk().flip_bit("journal.flj", 8 * 50);
  daemon.io.restart(Outage::kDaemon, seconds(1));
  const auto opened =
      Server::open(daemon.io, {.machine = stand_in_machine("2xV100").value(), .policy = "fifo"});
  ASSERT_FALSE(opened.has_value());
  EXPECT_NE(opened.error().message.find("`fairlead journal repair` prints what"), std::string::npos)
      << opened.error().message;
}

// So also between the record of a start and the start, and between that and the record of it.
TEST(Server, WhereverThePowerGoesAJobThatWasAcknowledgedStartsAndEnds) {
  int acknowledged = 0;
  for (std::uint64_t calls = 0; calls <= 60; ++calls) {
    SimDaemon daemon("fifo");
    daemon.io.calls().crash_after(calls);
    const json job = {{"command", {"work", "5000"}}, {"folder", "/data"}};
    const bool is_taken = daemon.ask("POST", "/v1/jobs", job).status == 201;
    daemon.fail(Outage::kPower);
    daemon.run_to(60);
    EXPECT_EQ(daemon.io.processes().problems(), std::vector<std::string>()) << calls;
    EXPECT_TRUE(daemon.io.tasks().empty()) << calls;
    if (!is_taken) continue;
    ++acknowledged;
    EXPECT_EQ(daemon.state(0), "finished") << calls;
  }
  EXPECT_GT(acknowledged, 0);
  EXPECT_LT(acknowledged, 61);
}

TEST(Server, ACancelledJobHasItsGraceAndIsThenKilled) {
  SimDaemon daemon;
  const std::size_t polite = daemon.submit({"work", "600000", "term=checkpoint:2000"});
  const std::size_t deaf = daemon.submit({"work", "600000", "term=ignore"});
  EXPECT_EQ(daemon.ask("POST", fmt::format("/v1/jobs/{}/cancel", polite)).status, 200);
  EXPECT_EQ(daemon.ask("POST", fmt::format("/v1/jobs/{}/cancel", deaf)).status, 200);
  daemon.run_to(10);
  EXPECT_EQ(daemon.alive(polite).first, 0);
  EXPECT_EQ(daemon.alive(deaf).first, 1);
  daemon.run_to(40);
  EXPECT_EQ(daemon.alive(deaf).first, 0);
  EXPECT_EQ(daemon.state(deaf), "cancelled");
}

TEST(Server, GpusOfAJobThatLeavesAreNotUsedBeforeItIsGone) {
  SimDaemon daemon("fifo", "1xV100");
  const std::size_t deaf = daemon.submit({"work", "600000", "term=ignore"});
  const std::size_t next = daemon.submit({"work", "1000"});
  daemon.ask("POST", fmt::format("/v1/jobs/{}/cancel", deaf));
  EXPECT_EQ(daemon.state(next), "starting");
  EXPECT_EQ(daemon.alive(next).first, 0);
  daemon.run_to(45);
  EXPECT_EQ(daemon.state(next), "finished");
}

TEST(Server, ADaemonThatFindsAJobThatLeavesDoesNotUseItsGpusEither) {
  SimDaemon daemon("fifo", "1xV100");
  const std::size_t deaf = daemon.submit({"work", "600000", "term=ignore"});
  daemon.ask("POST", fmt::format("/v1/jobs/{}/cancel", deaf));
  daemon.fail(Outage::kDaemon);
  const std::size_t next = daemon.submit({"work", "1000"});
  EXPECT_EQ(daemon.alive(deaf), std::pair(1, 1));
  EXPECT_EQ(daemon.state(next), "starting");
  EXPECT_EQ(daemon.alive(next).first, 0);
  daemon.run_to(60);
  EXPECT_EQ(daemon.alive(deaf).first, 0);
  EXPECT_EQ(daemon.state(next), "finished");
}

TEST(Server, AHeldJobIsFrozenUntilItIsReleased) {
  SimDaemon daemon;
  const std::size_t id = daemon.submit({"work", "60000"});
  daemon.ask("POST", fmt::format("/v1/jobs/{}/hold", id));
  EXPECT_EQ(daemon.state(id), "held");
  EXPECT_EQ(daemon.alive(id), std::pair(1, 0));
  daemon.run_to(300);
  EXPECT_EQ(daemon.state(id), "held");
  daemon.ask("POST", fmt::format("/v1/jobs/{}/release", id));
  EXPECT_EQ(daemon.alive(id), std::pair(1, 1));
  daemon.run_to(400);
  EXPECT_EQ(daemon.state(id), "finished");
}

TEST(Server, WhatIsNotYoursYouNeitherSeeNorTouch) {
  SimDaemon daemon;
  const std::size_t id = daemon.submit({"work", "60000"}, 1, kAnn);
  const std::string target = fmt::format("/v1/jobs/{}", id);
  for (const char* verb : {"/cancel", "/hold", "/release"}) {
    EXPECT_EQ(daemon.ask("POST", target + verb, {}, kBob).status, 403);
  }
  const json seen = json::parse(daemon.ask("GET", target, {}, kBob).body);
  EXPECT_FALSE(seen.contains("command") || seen.contains("folder") || seen.contains("log"));
  EXPECT_EQ(daemon.ask("PUT", "/v1/users/user1001", {{"tickets", 9}}, kBob).status, 403);
  EXPECT_EQ(daemon.ask("PUT", "/v1/users/user1001", {{"tickets", 9}}, 0).status, 200);
  EXPECT_EQ(daemon.state(id), "running");
}

TEST(Server, WhatCanNeverRunIsRefusedWithTheReason) {
  SimDaemon daemon;
  const auto refused = [&](json body) {
    const HttpMessage answer = daemon.ask("POST", "/v1/jobs", body);
    EXPECT_EQ(answer.status, 400) << answer.body;
    return json::parse(answer.body)["error"].get<std::string>();
  };
  const json good = {{"command", {"work"}}, {"folder", "/data"}};
  const auto with = [&](const char* field, json value) {
    json body = good;
    body[field] = std::move(value);
    return body;
  };
  EXPECT_EQ(refused(with("gpus", 3)), "larger than the cluster");
  EXPECT_EQ(refused(with("types", {"H100"})), "types: no such GPU here (there are: V100): H100");
  EXPECT_EQ(refused(with("command", json::array())), "command is missing");
  EXPECT_EQ(refused(with("folder", "data")), "folder must be an absolute path");
  EXPECT_EQ(refused(with("name", "a\nb")), "name must be at most 200 bytes that can be printed");
  EXPECT_EQ(refused(with("declared_s", -1)), "declared_s must be a positive number");
  EXPECT_EQ(refused(with("limit_s", 0)), "limit_s must be a positive number");
  EXPECT_EQ(refused(with("retries", -1)), "retries must be a whole number from 0 to 1000: -1");
  EXPECT_EQ(refused(json::array()), "a job is a JSON object");
  EXPECT_EQ(refused(with("terminal", 1)), "terminal must be true or false");
  EXPECT_TRUE(daemon.io.list("jobs").empty());
}

TEST(Server, AFileOfAJobThatACrashLeftUnderConstructionIsRemoved) {
  SimDaemon daemon("fifo");
  const std::size_t id = daemon.submit({"work", "10000"});
  ASSERT_TRUE(daemon.io.write(fmt::format("jobs/{}.7.0.tmp", id), "{"));
  daemon.fail(Outage::kDaemon);
  EXPECT_EQ(daemon.io.list("jobs"), std::vector<std::string>{fmt::format("{}", id)});
  daemon.await(id);
  EXPECT_EQ(daemon.state(id), "finished");
}

TEST(Server, ACordonedNodeTakesNoMoreJobs) {
  SimDaemon daemon("fifo", "1xV100,1xK80");
  EXPECT_EQ(daemon.ask("POST", "/v1/nodes/V100/cordon", {}, 0).status, 200);
  const std::size_t id = daemon.submit({"work", "1000"});
  EXPECT_EQ(daemon.job(id)["on"][0]["node"], "K80");
  EXPECT_EQ(daemon.ask("POST", "/v1/nodes/A100/cordon", {}, 0).status, 404);
}

TEST(Server, WhoWaitsForTheEndIsToldWhenItComes) {
  SimDaemon daemon;
  const std::size_t id = daemon.submit({"work", "90000", "exit=7"});
  const json end = json::parse(daemon.ask("GET", fmt::format("/v1/jobs/{}/end", id)).body);
  EXPECT_EQ(end["exit_code"], 7);
  EXPECT_GE(daemon.io.time(), Time{} + seconds(90));
}

json session(std::vector<std::string> command) {
  return {{"command", std::move(command)}, {"folder", "/data"}, {"terminal", true}};
}

TEST(Server, ASessionEndsWithItsClient) {
  SimDaemon daemon("fifo", "1xV100");
  daemon.ask("POST", "/v1/jobs", session({"work", "600000"}));  // and hangs up
  daemon.ask("POST", "/v1/jobs", session({"work", "600000"}));  // which waits
  const std::size_t job = daemon.submit({"work", "600000"});
  daemon.run_to(10);
  EXPECT_EQ(daemon.state(0), "cancelled");
  EXPECT_EQ(daemon.state(1), "cancelled");
  EXPECT_EQ(daemon.state(job), "running");
}

TEST(Server, ASessionThatWaitsHasNoTerminalUnderTheNextDaemon) {
  SimDaemon daemon("fifo", "1xV100");
  daemon.submit({"work", "60000"});
  daemon.ask("POST", "/v1/jobs", session({"work", "600000"}));
  daemon.fail(Outage::kDaemon);
  daemon.run_to(100);
  EXPECT_EQ(daemon.state(0), "finished");
  EXPECT_EQ(daemon.state(1), "failed");
  EXPECT_EQ(daemon.job(1)["reason"],
            "its terminal is gone: the daemon restarted after the job was submitted");
}

TEST(Server, AnotherPolicyGoesOnWithTheSameJobs) {
  SimDaemon daemon("fifo");
  const std::size_t id = daemon.submit({"work", "60000"}, 2);
  daemon.server.reset();
  daemon.io.restart(Outage::kDaemon, seconds(1));
  auto opened = Server::open(
      daemon.io,
      {.machine = stand_in_machine("2xV100").value(), .policy = "stride", .grace = seconds(30)});
  ASSERT_TRUE(opened.has_value());
  daemon.server = std::move(*opened);
  EXPECT_NE(daemon.server->beginning().find("the policy starts again"), std::string::npos);
  daemon.run_to(120);
  EXPECT_EQ(daemon.state(id), "finished");
}

TEST(Server, AskedToLeaveItLeavesJobsAlone) {
  SimDaemon daemon;
  const std::size_t id = daemon.submit({"work", "60000"});
  daemon.io.terminate();
  while (daemon.server->step().value()) {
  }
  EXPECT_EQ(daemon.alive(id), std::pair(1, 1));
}

TEST(Server, ADecisionThatIsCutContinuesAndIsCounted) {
  SimDaemon daemon("fifo:decision_budget=1", "2xV100");
  const std::size_t gang = daemon.submit({"work", "5000"}, 2);
  const std::size_t first = daemon.submit({"work", "100000"});
  const std::size_t second = daemon.submit({"work", "100000"});
  const auto counts = [&](int cuts) {
    const std::string line = fmt::format("\nfairlead_decisions_cut_total {}\n", cuts);
    return daemon.ask("GET", "/metrics").body.find(line) != std::string::npos;
  };
  EXPECT_TRUE(counts(0));
  daemon.await(gang);
  daemon.run_to(10);
  EXPECT_EQ(daemon.state(first), "running");
  EXPECT_EQ(daemon.state(second), "running");
  EXPECT_TRUE(counts(1));
  daemon.fail(Outage::kDaemon);
  EXPECT_TRUE(counts(1)) << "the journal has it";
}

}  // namespace
}  // namespace fairlead
