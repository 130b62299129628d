// The daemon on a machine in memory: what users can count on.

#include "fairlead/serve/server.h"

#include "fairlead/engine/tables.h"
#include "fairlead/http/http.h"
#include "fairlead/io/sim_io.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace fairlead {
namespace {

using nlohmann::json;

constexpr std::uint32_t kAnn = 1000;
constexpr std::uint32_t kBob = 1001;

// Daemons on one machine, one after another, and a client that asks one thing at a time.
class Daemon : public SimClients {
 public:
  explicit Daemon(std::string policy = "gandiva-fair:quantum_s=60", const char* nodes = "2xV100")
      : policy_(std::move(policy)), nodes_(nodes) {
    io.set_clients(this);
    open();
  }

  void open() {
    auto opened = Server::open(
        io, {.machine = stand_in_machine(nodes_).value(), .policy = policy_, .grace = seconds(30)});
    ASSERT_TRUE(opened.has_value()) << opened.error().message;
    server = std::move(*opened);
  }
  void fail(Outage outage, Duration time = seconds(1)) {
    server.reset();
    io.restart(outage, time);
    open();
  }
  // Until the clock of the machine is there.
  void run_to(int s) {
    const Time until = Time{} + seconds(s);
    const ConnectionId connection = io.connect({});
    io.hang_up(connection, until - io.time());  // something happens then
    while (io.time() < until) ASSERT_TRUE(server->step().value_or(false));
  }
  HttpMessage ask(std::string_view method, std::string_view target, const json& body = {},
                  std::uint32_t uid = kAnn) {
    answer_.reset();
    HttpReader reader(HttpReader::Of::kResponses);
    reader_ = &reader;
    const ConnectionId connection = io.connect({.uid = uid, .gid = uid, .is_admin = uid == 0});
    io.client_send(connection, http_request(method, target, body.is_null() ? "" : body.dump()), {});
    while (!answer_) {
      if (!server->step().value_or(false)) break;
    }
    io.hang_up(connection, {});
    reader_ = nullptr;
    return answer_.value_or(HttpMessage());
  }
  // Of a job that does what SimWork says of `command`.
  std::size_t submit(std::vector<std::string> command, int gpus = 1, std::uint32_t uid = kAnn) {
    const HttpMessage answer =
        ask("POST", "/v1/jobs", {{"command", command}, {"folder", "/data"}, {"gpus", gpus}}, uid);
    EXPECT_EQ(answer.status, 201) << answer.body;
    return json::parse(answer.body)["id"].get<std::size_t>();
  }
  json job(std::size_t id) { return json::parse(ask("GET", fmt::format("/v1/jobs/{}", id)).body); }
  std::string state(std::size_t id) { return job(id)["state"].get<std::string>(); }
  // How many tasks of the job live, and how many of them are not frozen.
  std::pair<int, int> alive(std::size_t id) const {
    std::pair<int, int> count;
    for (const auto& [name, task] : io.processes().all()) {
      if (task.id.job.row() != id || !task.is_alive()) continue;
      ++count.first;
      count.second += task.is_thawed() ? 1 : 0;
    }
    return count;
  }

  void wake(std::uint64_t) override {}
  void received(ConnectionId, std::string_view bytes) override {
    if (reader_ == nullptr) return;
    EXPECT_TRUE(reader_->feed(bytes));
    answer_ = reader_->next();
  }
  void closed(ConnectionId) override {}

  SimIo io{1, {}};
  std::unique_ptr<Server> server;

 private:
  std::string policy_;
  const char* nodes_;
  HttpReader* reader_ = nullptr;
  std::optional<HttpMessage> answer_;
};

// Its policy has asked for no turn yet, and nothing else happens.
TEST(Server, ADaemonThatStartsAnewDecidesAtOnce) {
  Daemon daemon("gandiva-fair:quantum_s=60", "1xV100");
  daemon.submit({"work", "100000000"});
  const std::size_t second = daemon.submit({"work", "100000000"});
  daemon.fail(Outage::kDaemon, hours(1));
  daemon.run_to(3600 + 1200);
  EXPECT_GT(daemon.job(second)["gpu_s"], 400.0);
  EXPECT_LT(daemon.job(second)["gpu_s"], 800.0);
}

TEST(Server, AJobRunsAndItsEndIsKnown) {
  Daemon daemon;
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
  Daemon daemon;
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

TEST(Server, WhatWasAcknowledgedOutlivesAPowerCut) {
  Daemon daemon("fifo");
  const std::size_t first = daemon.submit({"work", "60000"}, 2);
  const std::size_t second = daemon.submit({"work", "60000"}, 2);
  daemon.fail(Outage::kPower);
  EXPECT_EQ(daemon.job(second)["user"], "user1000");
  daemon.run_to(600);
  EXPECT_EQ(daemon.state(first), "finished");
  EXPECT_EQ(daemon.state(second), "finished");
}

TEST(Server, JobsRunOnWithoutTheDaemonAndAreFoundAgain) {
  Daemon daemon("fifo");
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

// The power goes at every call in turn, from the daemon's first on.
TEST(Server, WhereverThePowerGoesAFolderThatIsNewCanBeOpenedAgain) {
  const ServeOptions options{.machine = stand_in_machine("2xV100").value()};
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    for (std::uint64_t calls = 0; calls <= 10; ++calls) {
      SimIo io(seed, {});
      io.crash_after(calls);
      static_cast<void>(Server::open(io, options));
      io.restart(Outage::kPower, seconds(1));
      const auto opened = Server::open(io, options);
      EXPECT_TRUE(opened.has_value()) << seed << ' ' << calls << ": " << opened.error().message;
    }
  }
}

// So also between the record of a start and the start, and between that and the record of it.
TEST(Server, WhereverThePowerGoesAJobThatWasAcknowledgedStartsAndEnds) {
  int acknowledged = 0;
  for (std::uint64_t calls = 0; calls <= 60; ++calls) {
    Daemon daemon("fifo");
    daemon.io.crash_after(calls);
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
  Daemon daemon;
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
  Daemon daemon("fifo", "1xV100");
  const std::size_t deaf = daemon.submit({"work", "600000", "term=ignore"});
  const std::size_t next = daemon.submit({"work", "1000"});
  daemon.ask("POST", fmt::format("/v1/jobs/{}/cancel", deaf));
  EXPECT_EQ(daemon.state(next), "starting");
  EXPECT_EQ(daemon.alive(next).first, 0);
  daemon.run_to(45);
  EXPECT_EQ(daemon.state(next), "finished");
}

TEST(Server, ADaemonThatFindsAJobThatLeavesDoesNotUseItsGpusEither) {
  Daemon daemon("fifo", "1xV100");
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
  Daemon daemon;
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
  Daemon daemon;
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
  Daemon daemon;
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
  EXPECT_EQ(refused(json::array()), "a job is a JSON object");
  EXPECT_TRUE(daemon.io.list("jobs").empty());
}

TEST(Server, JobsThatCannotBeginCloseNoNodeToOthers) {
  Daemon daemon;
  for (int i = 0; i < 5; ++i) {
    const std::size_t bad = daemon.submit({"work", "10", "nostart=9"});
    daemon.run_to(1 + i);
    EXPECT_EQ(daemon.state(bad), "held");
  }
  const std::size_t good = daemon.submit({"work", "100000"}, 2, kBob);
  daemon.run_to(10);
  EXPECT_EQ(daemon.state(good), "running");
}

TEST(Server, ACordonedNodeTakesNoMoreJobs) {
  Daemon daemon("fifo", "1xV100,1xK80");
  EXPECT_EQ(daemon.ask("POST", "/v1/nodes/V100/cordon", {}, 0).status, 200);
  const std::size_t id = daemon.submit({"work", "1000"});
  EXPECT_EQ(daemon.job(id)["on"][0]["node"], "K80");
  EXPECT_EQ(daemon.ask("POST", "/v1/nodes/A100/cordon", {}, 0).status, 404);
}

TEST(Server, WhoWaitsForTheEndIsToldWhenItComes) {
  Daemon daemon;
  const std::size_t id = daemon.submit({"work", "90000", "exit=7"});
  const json end = json::parse(daemon.ask("GET", fmt::format("/v1/jobs/{}/end", id)).body);
  EXPECT_EQ(end["exit_code"], 7);
  EXPECT_GE(daemon.io.time(), Time{} + seconds(90));
}

TEST(Server, AnotherPolicyGoesOnWithTheSameJobs) {
  Daemon daemon("fifo");
  const std::size_t id = daemon.submit({"work", "60000"}, 2);
  daemon.server.reset();
  daemon.io.restart(Outage::kDaemon, seconds(1));
  auto opened = Server::open(
      daemon.io,
      {.machine = stand_in_machine("2xV100").value(), .policy = "stride", .grace = seconds(30)});
  ASSERT_TRUE(opened.has_value());
  daemon.server = std::move(*opened);
  EXPECT_NE(daemon.server->beginning().find("the policy starts anew"), std::string::npos);
  daemon.run_to(120);
  EXPECT_EQ(daemon.state(id), "finished");
}

TEST(Server, OtherGpusAreRefused) {
  Daemon daemon;
  daemon.server.reset();
  daemon.io.restart(Outage::kDaemon, seconds(1));
  const auto opened = Server::open(daemon.io, {.machine = stand_in_machine("4xV100").value()});
  ASSERT_FALSE(opened.has_value());
  EXPECT_NE(opened.error().message.find("other GPUs"), std::string::npos);
}

TEST(Server, AskedToLeaveItLeavesJobsAlone) {
  Daemon daemon;
  const std::size_t id = daemon.submit({"work", "60000"});
  daemon.io.terminate();
  while (daemon.server->step().value()) {
  }
  EXPECT_EQ(daemon.alive(id), std::pair(1, 1));
}

}  // namespace
}  // namespace fairlead
