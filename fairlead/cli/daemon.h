// A daemon from the view of commands that query one: answers are JSON, and a refusal is an Error.
#pragma once

#include "fairlead/base/result.h"
#include "fairlead/client/answers.h"
#include "fairlead/client/client.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fairlead {

// Adds --socket.
void add_socket_flag(CLI::App& app, std::string& socket);
// Returns the path of the daemon's socket: `flag`, or FAIRLEAD_SOCKET, or ~/.local/state/fairlead/socket if only that
// exists, or /run/fairlead/socket.
std::string socket_path(const std::string& flag);
// Returns the name of the account that runs this program, as used by the daemon.
std::string own_name();

// Returns the JSON of a response. Errors: the daemon's reason to refuse; the response is not JSON.
Result<nlohmann::json> body_of(const HttpMessage& answer);

// The answers that every daemon gives: the one of this machine, and the scheduler on Kubernetes. Errors for all: the
// daemon's reason to refuse, or a lost connection.
class DaemonQueries {
 public:
  // Sends GET of a target, and returns the response, whatever its status.
  using Get = std::function<Result<HttpMessage>(const std::string& target)>;
  explicit DaemonQueries(Get get) : get_(std::move(get)) {}

  Result<nlohmann::json> get(const std::string& target) const;
  Result<ClusterAnswer> cluster() const;
  // `query`: "all=1" and the like; empty: the unfinished jobs.
  Result<std::vector<JobAnswer>> jobs(std::string_view query = {}) const;
  Result<std::vector<UserAnswer>> users() const;

 private:
  Get get_;
};

// The daemon of this machine.
class Daemon : public DaemonQueries {
 public:
  // `flag`: of --socket.
  static Result<Daemon> connect(const std::string& flag);

  // `terminal`: also passed to the daemon; -1: none.
  Result<nlohmann::json> post(const std::string& target, const nlohmann::json& body = {},
                              int terminal = -1);
  Result<nlohmann::json> put(const std::string& target, const nlohmann::json& body);
  // Sends POST, and returns the response, whatever its status.
  Result<HttpMessage> ask(const std::string& target, const nlohmann::json& body);

  // Returns the number of a job given by number or by name: the only unfinished job of the user with that name, or
  // otherwise the latest. Error: there is none, or there are several.
  Result<std::int64_t> job_named(const std::string& text);
  // Returns the numbers of jobs given by a range, "12-31", or otherwise the number of job_named().
  Result<std::vector<std::int64_t>> jobs_named(const std::string& text);
  Result<JobAnswer> job(std::int64_t id);

  // Asks for the end of a job; client().descriptor() is readable once take_end() need not wait.
  Status ask_end(std::int64_t id);
  Result<JobAnswer> take_end();
  const Client& client() const { return *client_; }

 private:
  explicit Daemon(std::shared_ptr<Client> client);

  std::shared_ptr<Client> client_;  // shared with the queries
};

// "/v1/jobs/12/hold"; `what` may be empty.
std::string job_target(std::int64_t id, std::string_view what = {});

}  // namespace fairlead
