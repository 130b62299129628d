// The commands that ask a daemon, run by a shell against a daemon with fixed answers, for tests.
#pragma once

#include "fairlead/client/testing_daemon.h"

#include "program.h"
#include <nlohmann/json.hpp>

#include <map>
#include <mutex>
#include <pwd.h>

namespace fairlead {
using nlohmann::json;

inline constexpr const char* kCluster = R"({"now_unix_ms": 10000000, "policy": "fifo",
  "policy_options": "skip=true", "nodes": [{"name": "V100", "type": "V100", "is_cordoned": false,
  "gpus": [{"index": 0, "state": "busy", "job": 7}, {"index": 1, "state": "idle", "job": null}]}]})";

inline json job(std::int64_t id, const char* state, const char* name = "train.py") {
  return {{"id", id},
          {"name", name},
          {"user", "ann"},
          {"model", ""},
          {"gpus", 1},
          {"state", state},
          {"since_unix_ms", 9'940'000},
          {"gpu_s", 60},
          {"on", json::array()},
          {"reason", ""},
          {"declared_s", 120}};
}

// As the program finds it.
inline std::string own_name() {
  const passwd* account = getpwuid(geteuid());
  return account != nullptr ? account->pw_name : fmt::format("{}", geteuid());
}

class Commands : public ProgramTest {
 protected:
  using Answer = TestingDaemon::Answer;

  // Runs `fairlead ARGUMENTS` against the daemon, which goes on until `after`.
  Ended ask(
      std::string_view arguments, std::string_view before = ":",
      const std::function<void()>& after = [] {}) {
    const std::string socket = path("socket");
    const TestingDaemon daemon(
        socket, [this](const HttpMessage& request, pid_t peer) { return answer(request, peer); });
    Ended ended =
        fairlead(arguments, fmt::format("export TZ=UTC FAIRLEAD_SOCKET='{}'; {}", socket, before));
    after();
    return ended;
  }
  // Sets the objects of the API server in a list.
  void list(const std::string& path, const std::string& items) {
    objects_[path] =
        fmt::format(R"({{"metadata": {{"resourceVersion": "5"}}, "items": [{}]}})", items);
  }
  // Sets the object that the API server returns for a POST.
  void on_creation(const std::string& path, const std::string& object) { objects_[path] = object; }
  // Runs `fairlead ARGUMENTS` where the current kubeconfig has this server. Its scheduler leads as "sched-1", and
  // answers behind the server's proxy.
  Ended ask_kubernetes(const std::string& arguments, const std::string& at = "") {
    constexpr std::string_view kProxy = "/api/v1/namespaces/ml/pods/sched-1:8080/proxy";
    const TestingDaemon server([&](const HttpMessage& request, pid_t peer) {
      if (request.path == "/apis/coordination.k8s.io/v1/namespaces/ml/leases/fairlead")
        return Answer{200, R"({"spec": {"holderIdentity": "sched-1_0123"}})"};
      if (const auto found = objects_.find(request.path); found != objects_.end())
        return Answer{request.method == "POST" ? 201 : 200, found->second};
      if (request.path.starts_with("/apis/")) return Answer{404, R"({"kind": "Status"})"};
      const bool is_proxied = request.path.starts_with(kProxy);
      if (is_proxied != at.empty())
        return Answer{403, R"({"kind": "Status", "message": "pods/proxy is forbidden"})"};
      HttpMessage inner = request;
      if (is_proxied) inner.path.erase(0, kProxy.size());
      return answer(inner, peer);
    });
    write("kubeconfig", fmt::format("current-context: c\n"
                                    "contexts: [{{name: c, context: {{cluster: c, user: u}}}}]\n"
                                    "clusters: [{{name: c, cluster: {{server: 'http://{}'}}}}]\n"
                                    "users: [{{name: u, user: {{}}}}]\n",
                                    server.path()));
    const std::string http = at.empty() ? "" : fmt::format(" --http {}", server.path());
    const bool is_when = arguments.starts_with("when");  // it sees where a job is
    return fairlead(
        fmt::format("{}{} --namespace ml{}", arguments, is_when ? "" : " --from kubernetes", http),
        fmt::format("export TZ=UTC KUBECONFIG='{}'", path("kubeconfig")));
  }
  // Sets the answers to a request such as "GET /v1/jobs?all=1".
  void on(const std::string& what, TestingDaemon::Answers answers) {
    answers_[what] = std::move(answers);
  }
  void on(const std::string& what, const json& body, int status = 200) {
    on(what, [=](const HttpMessage&, pid_t) { return Answer{status, body.dump()}; });
  }
  // Sets up a running job, submitted as number 12, with its log.
  void run_job() {
    on("POST /v1/jobs", json{{"id", 12}}, 201);
    json running = job(12, "running");
    running["log"] = path("log");
    on("GET /v1/jobs/12", running);
  }
  std::vector<std::string> asked() {
    const std::lock_guard lock(mutex_);
    return asked_;
  }
  json body_of(const std::string& what) {
    const std::lock_guard lock(mutex_);
    return json::parse(bodies_[what], nullptr, false);
  }

 private:
  Answer answer(const HttpMessage& request, pid_t peer) {
    const std::string what = fmt::format("{} {}{}{}", request.method, request.path,
                                         request.query.empty() ? "" : "?", request.query);
    {
      const std::lock_guard lock(mutex_);
      asked_.push_back(what);
      bodies_[what] = request.body;
    }
    const auto found = answers_.find(what);
    if (found == answers_.end()) return {404, R"({"error": "not asked in this test"})"};
    return found->second(request, peer);
  }

  std::map<std::string, TestingDaemon::Answers> answers_;
  std::map<std::string, std::string> objects_;  // lists of the API server, by path
  std::mutex mutex_;
  std::vector<std::string> asked_;
  std::map<std::string, std::string> bodies_;
};

}  // namespace fairlead
