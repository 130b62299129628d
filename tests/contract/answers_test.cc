// The answers to clients: equal states have equal answers, on one machine and on Kubernetes.

#include "fairlead/kube/fake_server.h"
#include "fairlead/pods/pods_server.h"
#include "fairlead/pods/testing_clients.h"
#include "fairlead/serve/testing_daemon.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>

namespace fairlead {
namespace {

using nlohmann::json;

struct Asked {
  int s;  // time of the submission
  std::uint32_t uid;
  std::string name;
  int gpus;

  std::string user() const { return fmt::format("user{}", uid); }
  std::string whole_name() const { return fmt::format("{}/{}", user(), name); }
};
// On four GPUs under fifo the first runs, and the others wait.
const std::vector<Asked> kJobs = {
    {20, kAnn, "a", 2}, {30, kBob, "b", 4}, {40, kAnn, "c", 1}, {50, kBob, "d", 1}};
constexpr int kNow = 100;

const std::vector<std::string> kTargets = {
    "/v1/cluster", "/v1/users",      "/v1/jobs",       "/v1/jobs?user=user1001&all=1",
    "/v1/jobs/0",  "/v1/jobs/1/why", "/v1/jobs/2/why", "/v1/jobs/9"};

std::vector<json> on_one_machine() {
  SimDaemon daemon("fifo", "4xV100");
  for (const Asked& job : kJobs) {
    daemon.run_to(job.s);
    daemon.submit({"work", "100000000"}, job.gpus, job.uid,
                  {{"name", job.whole_name()},
                   {"model", "resnet"},
                   {"declared_s", 7200},
                   {"pinned", kMayMove}});
  }
  daemon.run_to(kNow);
  std::vector<json> answers;
  for (const std::string& target : kTargets) {
    // The client owns no job, so it gets the public fields.
    answers.push_back(json::parse(daemon.ask("GET", target, {}, 1002).body));
  }
  return answers;
}

std::vector<json> on_kubernetes() {
  FakeServer server(1);
  server.add_node({.name = "V100", .gpus = 4, .product = "Tesla-V100-SXM2-16GB"});
  for (const Asked& job : kJobs) {
    server.at(Time{} + seconds(job.s), [&server, &job] {
      server.add_job(
          {.name_space = job.user(),
           .name = job.name,
           .gpus = job.gpus,
           .annotations = {{"fairlead.dev/model", "resnet"}, {"fairlead.dev/time-s", "7200"}}});
    });
  }
  TestingClients clients;
  std::vector<json> answers;
  server.at(Time{} + seconds(kNow), [&] {
    for (const std::string& target : kTargets) {
      answers.push_back(json::parse(clients.get(target).body));
    }
    server.terminate();
  });
  const auto door = server.open();
  EXPECT_TRUE(serve_pods(*door, {.policy = "fifo", .identity = "one", .http = &clients},
                         [](const std::string&) {}));
  return answers;
}

// Rounds times to 20 s, and makes instants relative to `now_unix_ms`: starts take a moment on both.
void make_comparable(json& value, std::int64_t now_unix_ms) {
  constexpr double kRound = 20;
  if (value.is_array()) {
    std::erase_if(value.get_ref<json::array_t&>(), [](const json& line) {
      return line.is_string() && line.get<std::string>().starts_with("speed: ");
    });
    for (json& each : value) make_comparable(each, now_unix_ms);
  }
  if (!value.is_object()) return;
  // Only a backend that starts processes itself knows these.
  for (const char* key : {"retries_left", "progress", "speed"}) value.erase(key);
  for (auto& [key, field] : value.items()) {
    if (key.ends_with("_unix_ms") && field.is_number()) {
      const auto ago_ms = static_cast<double>(now_unix_ms - field.get<std::int64_t>());
      field = std::round(ago_ms / 1000 / kRound);
    } else if (key == "gpu_s") {
      field = std::round(field.get<double>() / kRound);
    } else {
      make_comparable(field, now_unix_ms);
    }
  }
}

// Names jobs within sentences as Kubernetes does.
std::string renamed(std::string text) {
  for (std::size_t row = 0; row < kJobs.size(); ++row) {
    const std::string from = fmt::format("job {} of {}", row, kJobs[row].user());
    for (std::size_t at = text.find(from); at != text.npos; at = text.find(from)) {
      text.replace(at, from.size(), kJobs[row].whole_name());
    }
  }
  return text;
}

std::vector<json> comparable(std::vector<json> answers) {
  EXPECT_EQ(answers.size(), kTargets.size());
  const auto now = answers.at(0)["now_unix_ms"].get<std::int64_t>();
  for (json& answer : answers) {
    make_comparable(answer, now);
    answer = json::parse(renamed(answer.dump()));
  }
  return answers;
}

TEST(Answers, AreEqualOnOneMachineAndOnKubernetes) {
  const std::vector<json> local = comparable(on_one_machine());
  const std::vector<json> pods = comparable(on_kubernetes());
  for (std::size_t i = 0; i < kTargets.size(); ++i) {
    EXPECT_EQ(local[i].dump(1), pods[i].dump(1)) << kTargets[i];
  }
  EXPECT_EQ(pods[2]["jobs"].size(), kJobs.size());
  EXPECT_EQ(pods[2]["jobs"][0]["state"], "running");
  EXPECT_EQ(pods[3]["jobs"][0]["name"], "user1001/b");
  EXPECT_EQ(pods[7]["error"], "no such job: 9");
}

}  // namespace
}  // namespace fairlead
