// Daemons on a machine in memory, for tests.
#pragma once

#include "fairlead/engine/tables.h"
#include "fairlead/http/http.h"
#include "fairlead/io/sim_io.h"
#include "fairlead/serve/server.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace fairlead {

constexpr std::uint32_t kAnn = 1000;
constexpr std::uint32_t kBob = 1001;

// Daemons on one machine, one after another, and a client that sends one request at a time.
class SimDaemon : public SimClients {
 public:
  explicit SimDaemon(std::string policy = "gandiva-fair:quantum_s=60", const char* nodes = "2xV100")
      : policy_(std::move(policy)), nodes_(nodes) {
    io.network().set_clients(this);
    open();
  }

  void open() {
    Machine machine = stand_in_machine(nodes_).value();
    machine.host = host;
    auto opened = Server::open(io, {.machine = std::move(machine),
                                    .policy = policy_,
                                    .grace = seconds(30),
                                    .keep = keep,
                                    .http_address = "127.0.0.1:8080",
                                    .http_token = "secret",
                                    .notify = notify,
                                    .host = "gpu1",
                                    .on_foreign = on_foreign});
    ASSERT_TRUE(opened.has_value()) << opened.error().message;
    server = std::move(*opened);
  }
  void fail(Outage outage, Duration time = seconds(1)) {
    server.reset();
    io.restart(outage, time);
    open();
  }
  // The machine of the next daemon.
  void set_nodes(const char* nodes) { nodes_ = nodes; }
  // Returns the job's live task.
  const SimTask* task(std::size_t id) const {
    for (const auto& [name, task] : io.processes().all()) {
      if (task.id.job.row() == id && task.is_alive()) return &task;
    }
    return nullptr;
  }
  // Runs until that time on the machine's clock.
  void run_to(int s) {
    const Time until = Time{} + seconds(s);
    const ConnectionId connection = io.network().connect({});
    io.network().hang_up(connection, until - io.time());  // an event at that time
    while (io.time() < until) ASSERT_TRUE(server->step().value_or(false));
  }
  // Runs until the job is done.
  void await(std::size_t id) {
    while (server->tables().jobs.is_here(JobId(id))) ASSERT_TRUE(server->step().value_or(false));
  }
  HttpMessage ask(std::string_view method, std::string_view target, const nlohmann::json& body = {},
                  std::uint32_t uid = kAnn) {
    return ask_as({.uid = uid, .gid = uid, .is_admin = uid == 0},
                  http_request(method, target, body.is_null() ? "" : body.dump()));
  }
  // Sends a request over TCP; `headers`: those of the request, each with its end of line.
  HttpMessage ask_over_tcp(std::string_view first_line, std::string_view headers) {
    return ask_as({.uid = kNoUser, .gid = kNoUser, .is_unknown = true},
                  fmt::format("{} HTTP/1.1\r\n{}Content-Length: 0\r\n\r\n", first_line, headers));
  }
  HttpMessage ask_as(const Peer& peer, std::string request) {
    answer_.reset();
    HttpReader reader(HttpReader::Of::kResponses);
    reader_ = &reader;
    const ConnectionId connection = io.network().connect(peer);
    io.network().send(connection, std::move(request), {});
    while (!answer_) {
      if (!server->step().value_or(false)) break;
    }
    io.network().hang_up(connection, {});
    reader_ = nullptr;
    return answer_.value_or(HttpMessage());
  }
  // Submits a job and returns its id. SimWork runs `command`. `more`: further fields of the request.
  std::size_t submit(std::vector<std::string> command, int gpus = 1, std::uint32_t uid = kAnn,
                     const nlohmann::json& more = nlohmann::json::object()) {
    nlohmann::json request = {{"command", command}, {"folder", "/data"}, {"gpus", gpus}};
    request.update(more);
    const HttpMessage answer = ask("POST", "/v1/jobs", request, uid);
    EXPECT_EQ(answer.status, 201) << answer.body;
    return nlohmann::json::parse(answer.body)["id"].get<std::size_t>();
  }
  nlohmann::json job(std::size_t id) {
    return nlohmann::json::parse(ask("GET", fmt::format("/v1/jobs/{}", id)).body);
  }
  std::string state(std::size_t id) { return job(id)["state"].get<std::string>(); }
  std::string why(std::size_t id) { return ask("GET", fmt::format("/v1/jobs/{}/why", id)).body; }
  // Asks as ann for a change of the job, for example "hold". Returns the status.
  int act(std::size_t id, std::string_view verb) {
    return ask("POST", fmt::format("/v1/jobs/{}/{}", id, verb)).status;
  }
  // Returns the number of the job's live tasks, and how many of them are not frozen.
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
    raw = bytes;
    EXPECT_TRUE(reader_->feed(bytes));
    answer_ = reader_->next();
  }
  void closed(ConnectionId) override {}

  SimIo io{1, {}};
  HostSize host{};                             // size of the machine of the next daemon
  OnForeign on_foreign = OnForeign::kNothing;  // option of the next daemon
  Duration keep{};                             // option of the next daemon
  std::string notify{};                        // the same
  std::unique_ptr<Server> server;
  std::string raw;  // the bytes that came last

 private:
  std::string policy_;
  const char* nodes_;
  HttpReader* reader_ = nullptr;
  std::optional<HttpMessage> answer_;
};

}  // namespace fairlead
