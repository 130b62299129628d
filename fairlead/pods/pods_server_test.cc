#include "fairlead/pods/pods_server.h"

#include "fairlead/kube/json.h"
#include "fairlead/kube/testing_faults.h"
#include "fairlead/pods/pod_progress.h"
#include "fairlead/pods/testing_clients.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>

namespace fairlead {
namespace {

// A process that is killed at a time of its door: from then on none of its calls reach the server.
class MortalDoor : public KubeDoor {
 public:
  MortalDoor(std::unique_ptr<KubeDoor> door, Time end) : door_(std::move(door)), end_(end) {}
  Time now() override { return door_->now(); }
  std::int64_t unix_ms() override { return door_->unix_ms(); }
  std::uint64_t random() override { return door_->random(); }
  CallId call(KubeRequest request) override { return is_dead() ? 0 : door_->call(request); }
  CallId stream(KubeRequest request) override { return is_dead() ? 0 : door_->stream(request); }
  void drop(CallId call) override { door_->drop(call); }
  KubeEvent wait(Time until) override {
    if (is_dead()) {
      if (!std::exchange(is_told_, true)) return {KubeEvent::Kind::kTerminate};
      const Time later = std::max(until, now() + seconds(1));
      while (door_->wait(later).kind != KubeEvent::Kind::kTime) {
      }
      return {};
    }
    return door_->wait(std::min(until, end_));
  }
  bool is_dead() { return now() >= end_; }

 private:
  std::unique_ptr<KubeDoor> door_;
  Time end_;
  bool is_told_ = false;
};

// Schedulers that follow each other on one cluster, and the GPU time that namespaces got meanwhile.
class Leaders {
 public:
  explicit Leaders(Duration work = {}) {
    for (const std::string name : {"a", "b"}) server.add_node({.name = name, .gpus = 4});
    for (const std::string name : {"ann", "bob", "cy"}) {
      server.add_job({.name_space = name, .name = "train", .pods = 2, .gpus = 4, .run = work});
    }
    for (std::int64_t s = 0; work.ms == 0 && s < 7200; s += kSample) {
      server.at(Time{} + seconds(s), [this] { count(); });
    }
  }

  // Runs a scheduler that lives for `life` from now on.
  Status run(Duration life, const std::string& policy) {
    const auto begin = server.open();
    MortalDoor door(server.open(), begin->now() + life);
    return serve_pods(
        door,
        {.policy = policy, .identity = fmt::format("scheduler-{}", ++leaders_), .http = &clients},
        [this](const std::string& line) { said.push_back(line); });
  }
  // Runs schedulers for `life` each, until two hours have passed.
  void run_all(Duration life, bool forgets = false) {
    while (server.now() < Time{} + seconds(7200)) {
      ASSERT_TRUE(run(life, "gang-stride:quantum_s=60"));
      if (forgets) server.act("DELETE", kState);
    }
  }
  bool has_said(std::string_view begin) const {
    return std::ranges::any_of(said,
                               [&](const std::string& line) { return line.starts_with(begin); });
  }
  double served_s(const std::string& name_space) { return gpu_s_[name_space] / 8; }
  double served_s() { return served_s("ann") + served_s("bob") + served_s("cy"); }

  static constexpr const char* kState = "/api/v1/namespaces/fairlead/configmaps/fairlead-state";
  // Returns the answer of the present leader at that second.
  Json answer_at(std::int64_t s, const std::string& policy, const std::string& target) {
    Json answer;
    server.at(Time{} + seconds(s),
              [&] { answer = Json::parse(clients.get(target).body, nullptr, false); });
    const Status status = run(Time{} + seconds(s + 1) - server.now(), policy);
    EXPECT_TRUE(status) << status.error().message;
    return answer;
  }

  FakeServer server{1};
  TestingClients clients;
  std::vector<std::string> said;

 private:
  static constexpr std::int64_t kSample = 2;

  void count() {
    const FakeAnswer list = server.act("GET", "/api/v1/pods");
    for (const Json& pod : json_at(list.body, {"items"})) {
      if (text_at(pod, {"status", "phase"}) != "Running") continue;
      gpu_s_[text_at(pod, {"metadata", "namespace"})] += 4 * kSample;
    }
  }

  int leaders_ = 0;
  std::map<std::string, double> gpu_s_;
};

TEST(PodsServer, SharesAreThoseOfOneLeaderThoughOneIsKilledAtEveryTurn) {
  Leaders one;
  one.run_all(seconds(7200));
  for (const std::int64_t life_s : {45, 62, 64, 70}) {
    Leaders many;
    many.run_all(seconds(life_s));
    // Each change of leaders costs a moment.
    EXPECT_GT(many.served_s(), 0.985 * one.served_s()) << life_s << " s";
    for (const std::string name : {"ann", "bob", "cy"}) {
      EXPECT_NEAR(many.served_s(name), many.served_s() / 3, 60) << name << ", " << life_s << " s";
      EXPECT_NEAR(one.served_s(name), one.served_s() / 3, 60) << name;
    }
  }
}

TEST(PodsServer, SharesAreNotThoseWhereWhatThePolicyRemembersIsLost) {
  Leaders forgetful;
  forgetful.run_all(seconds(70), true);
  EXPECT_LT(forgetful.served_s("bob"), forgetful.served_s("ann") / 2);
}

TEST(PodsServer, ALeaderThatIsAskedToLeaveIsFollowedAtOnceAndLeavesAllThatItKnows) {
  Leaders leaders;
  leaders.server.at(Time{} + seconds(100), [&] { leaders.server.terminate(); });
  ASSERT_TRUE(leaders.run(seconds(1000), "gang-stride:quantum_s=600"));
  const Time left = leaders.server.now();
  EXPECT_LT(left, Time{} + seconds(105));
  ASSERT_TRUE(leaders.run(seconds(3), "gang-stride:quantum_s=600"));
  EXPECT_EQ(leaders.said.back(),
            "leads 8 GPUs on 2 nodes under gang-stride:quantum_s=600; 1 jobs run");
}

TEST(PodsServer, WhatDoesNotFitIsDroppedWithAWord) {
  Leaders leaders;
  ASSERT_TRUE(leaders.run(seconds(50), "gang-stride:quantum_s=60"));
  ASSERT_TRUE(leaders.run(seconds(50), "gang-stride:quantum_s=61"));
  EXPECT_TRUE(
      leaders.has_said("the policy starts without saved state: the saved state has another policy "
                       "or options: gang-stride:"));
  leaders.server.add_node({.name = "c", .gpus = 4});
  ASSERT_TRUE(leaders.run(seconds(50), "gang-stride:quantum_s=61"));
  EXPECT_TRUE(leaders.has_said(
      "the policy starts without saved state: the saved state has other nodes: c"));
  for (const char* text : {"", "bm8=", "KLUv/QRYAAAA"}) {
    leaders.said.clear();
    leaders.server.act("PATCH", Leaders::kState, {{"binaryData", {{"state", text}}}});
    ASSERT_TRUE(leaders.run(seconds(50), "gang-stride:quantum_s=61"));
    EXPECT_TRUE(leaders.has_said("the policy starts without saved state: ")) << text;
  }
}

TEST(PodsServer, ARightThatIsMissingIsNamedOnce) {
  Leaders leaders;
  leaders.server.fail_next("POST", "/binding", {.status = 403}, 6);
  ASSERT_TRUE(leaders.run(seconds(50), "gang-stride:quantum_s=3600"));
  EXPECT_EQ(std::ranges::count_if(leaders.said,
                                  [](const std::string& line) {
                                    return line.starts_with("missing RBAC permission: ");
                                  }),
            1);
}

TEST(PodsServer, PodsAndJobsThatWaitAreToldWhy) {
  Leaders leaders;
  leaders.server.run_until(Time{} + seconds(1));  // the pods exist
  ASSERT_TRUE(leaders.run(seconds(50), "gang-stride:quantum_s=3600"));
  const FakeAnswer pods = leaders.server.act("GET", "/api/v1/namespaces/bob/pods");
  const Json& pod = json_at(pods.body, {"items"})[0];
  const Json& condition = item_at(pod, {"status", "conditions"}, "type", "PodScheduled");
  EXPECT_EQ(text_at(condition, {"status"}), "False");
  EXPECT_EQ(text_at(condition, {"reason"}), "Unschedulable");
  const std::string message = text_at(condition, {"message"});
  EXPECT_TRUE(message.starts_with("It waits for 8 GPUs, for ")) << message;
  const std::string rest =
      ": jobs that came first have GPUs that it can use. No GPU that it can run on is idle now. "
      "Instead of it: ann/train (8 GPUs). bob has 1 ticket, is entitled to 2.67 of 8 GPUs now, and "
      "has 0 GPUs. The job has been served 0.00 GPU-hours so far.";
  EXPECT_TRUE(message.ends_with(rest)) << message;
  // Ann's Job is suspended when her turn ends, and waits.
  ASSERT_TRUE(leaders.run(seconds(200), "gang-stride:quantum_s=60"));
  const auto is_waiting = [](const Json& event) { return text_at(event, {"reason"}) == "Waiting"; };
  const FakeAnswer events = leaders.server.act("GET", "/api/v1/namespaces/ann/events");
  EXPECT_EQ(std::ranges::count_if(json_at(events.body, {"items"}), is_waiting), 1);
}

TEST(PodsServer, PodsThatNoJobStandsForAreToldWhyWithinTenSeconds) {
  Leaders leaders;
  const std::map<std::string, std::string> trio = {{"fairlead.dev/gang", "trio"},
                                                   {"fairlead.dev/gang-size", "3"}};
  leaders.server.add_node({.name = "c", .gpus = 1});
  leaders.server.add_job({.name_space = "dan", .name = "cpu", .gpus = 0});
  leaders.server.add_job({.name_space = "dan", .name = "one", .pods = 0, .pod_annotations = trio});
  leaders.server.add_job({.name_space = "dan", .name = "grown", .is_indexed = false});
  const auto condition = [&](const std::string& part) {
    std::string found;
    const FakeAnswer pods = leaders.server.act("GET", "/api/v1/namespaces/dan/pods");
    for (const Json& pod : json_at(pods.body, {"items"})) {
      const bool is_bound = !text_at(pod, {"spec", "nodeName"}).empty();
      if (!text_at(pod, {"metadata", "name"}).starts_with(part) || is_bound) continue;
      const Json& one = item_at(pod, {"status", "conditions"}, "type", "PodScheduled");
      found = text_at(one, {"message"});
    }
    return found;
  };
  leaders.server.at(Time{} + seconds(20), [&] {
    EXPECT_EQ(condition("cpu"), "It is refused: its pods ask for no nvidia.com/gpu.");
    EXPECT_EQ(condition("one"), "It waits: 2 of the pods of its gang do not exist yet.");
    leaders.server.act("PATCH", "/apis/batch/v1/namespaces/dan/jobs/grown",
                       {{"spec", {{"parallelism", 2}, {"completions", 2}}}});
  });
  ASSERT_TRUE(leaders.run(seconds(60), "fifo:skip=true"));
  EXPECT_EQ(condition("grown"),
            "Its gang runs without it. It gets a node when the gang starts again.");
  EXPECT_FALSE(leaders.has_said("dan/grown lost its GPUs"));
}

TEST(PodsServer, HundredsOfGangsThatWaitAreToldWhyAFewASecond) {
  Leaders leaders;
  for (int i = 0; i < 400; ++i) {
    leaders.server.add_job({.name_space = "dan", .name = fmt::format("train-{}", i), .gpus = 4});
  }
  ASSERT_TRUE(leaders.run(seconds(40), "fifo:skip=true"));
  const auto told = std::ranges::count_if(
      leaders.server.calls(), [](const FakeCall& call) { return call.path.ends_with("/status"); });
  EXPECT_GT(told, 100);
  EXPECT_LE(told, 310);  // ten a second, after the first ten seconds
}

TEST(PodsServer, JobsKeepTheirNumbersAndASuspensionIsARestart) {
  Leaders leaders;
  leaders.server.run_until(Time{} + seconds(1));  // the pods exist
  const std::string policy = "gang-stride:quantum_s=60";
  const auto states = [&](std::int64_t s) {
    std::map<std::string, std::string> found;
    const Json answer = leaders.answer_at(s, policy, "/v1/jobs");
    for (const Json& job : json_at(answer, {"jobs"})) {
      found[job["name"].get<std::string>()] = fmt::format(
          "{} {} {}", job["id"].dump(), job["state"].get<std::string>(), job["restarts"].dump());
    }
    return found;
  };
  using States = std::map<std::string, std::string>;
  EXPECT_EQ(states(40), (States{{"ann/train", "0 running 0"},
                                {"bob/train", "2 waiting 0"},
                                {"cy/train", "1 waiting 0"}}));
  EXPECT_EQ(states(90), (States{{"ann/train", "0 suspended 0"},
                                {"bob/train", "2 waiting 0"},
                                {"cy/train", "1 running 0"}}));
  EXPECT_EQ(states(220), (States{{"ann/train", "0 running 1"},
                                 {"bob/train", "2 suspended 0"},
                                 {"cy/train", "1 suspended 0"}}));
}

// Returns the learned speeds, "ann H100 x8 1.00": user, type, GPUs and speed.
std::set<std::string> models_at(Leaders& leaders, std::int64_t s, const std::string& policy) {
  std::set<std::string> found;
  const Json answer = leaders.answer_at(s, policy, "/v1/models");
  for (const Json& speed : json_at(answer, {"models"})) {
    found.insert(fmt::format("{} {} x{} {:.2f}", text_at(speed, {"user"}),
                             text_at(speed, {"gpu_type"}), integer_at(speed, {"gpus"}),
                             speed["speed"].get<double>()));
  }
  return found;
}

TEST(PodsServer, SpeedsAreLearnedAndOutliveLeadersPoliciesAndNodes) {
  using Speeds = std::set<std::string>;
  Leaders leaders;
  leaders.server.run_until(Time{} + seconds(1));  // the pods exist
  const auto report = [&](std::int64_t s, const std::string& user, double step_per_s) {
    leaders.server.at(Time{} + seconds(s), [&leaders, user, step_per_s] {
      const std::string path = fmt::format("/api/v1/namespaces/{}/pods", user);
      const FakeAnswer pods = leaders.server.act("GET", path);
      for (const Json& pod : json_at(pods.body, {"items"})) {
        const std::string text = fmt::format("{} 100 0 steps", step_per_s);
        leaders.server.act("PATCH", path + "/" + text_at(pod, {"metadata", "name"}),
                           {{"metadata", {{"annotations", {{kProgressOf, text}}}}}});
      }
    });
  };
  const std::string policy = "gang-stride:quantum_s=60";
  report(30, "ann", 8);
  report(90, "cy", 4);
  std::string why;
  leaders.server.at(Time{} + seconds(105),
                    [&] { why = leaders.clients.get("/why/cy/train").body; });
  EXPECT_EQ(models_at(leaders, 110, policy), (Speeds{"ann H100 x8 1.00", "cy H100 x8 1.00"}));
  EXPECT_NE(why.find("speed: 4 steps/s, measured from its output"), why.npos) << why;
  // The next leader.
  EXPECT_TRUE(models_at(leaders, 150, policy).contains("ann H100 x8 1.00"));
  for (std::int64_t s = 170; s < 360; s += 10) report(s, "ann", 4);  // some are in its turn
  EXPECT_TRUE(models_at(leaders, 370, policy).contains("ann H100 x8 0.50"));
  // Under another policy, and with other nodes.
  EXPECT_TRUE(models_at(leaders, 410, "fifo").contains("ann H100 x8 0.50"));
  leaders.server.add_node({.name = "c", .gpus = 4});
  EXPECT_TRUE(models_at(leaders, 450, "fifo").contains("ann H100 x8 0.50"));
  leaders.server.at(Time{} + seconds(480),
                    [&] { leaders.server.add_node({.name = "d", .gpus = 4}); });
  EXPECT_TRUE(models_at(leaders, 510, "fifo").contains("ann H100 x8 0.50"));
  EXPECT_TRUE(leaders.has_said("rebuilding state"));
}

// Runs two gangs and a third that wait for each other on eight GPUs until all have ended.
std::string problem_of_a_run(const std::function<void(Leaders&)>& disturb, Duration life) {
  Leaders leaders(seconds(60));
  disturb(leaders);
  for (int i = 0; i < 40; ++i) {
    if (!leaders.run(life, "gang-stride:quantum_s=20")) return "a leader gave up";
    life = seconds(300);
    if (std::string problem = refusal(leaders.server); !problem.empty()) return problem;
    if (all_jobs_done(leaders.server)) return "";
  }
  return "jobs have not ended";
}

TEST(PodsServer, GangsComeToTheirEndsWheneverALeaderIsKilled) {
  for (std::int64_t ms = 500; ms < 130'000;
       ms += 2'900 * static_cast<std::int64_t>(fault_stride())) {
    EXPECT_EQ(problem_of_a_run([](Leaders&) {}, milliseconds(ms)), "") << ms << " ms";
  }
}

TEST(PodsServer, GangsComeToTheirEndsThoughWhatIsLeftCannotBeReadOrWritten) {
  std::vector<FakeFault> faults(kFaults.begin(), kFaults.end());
  faults.push_back({.status = 403});
  for (const FakeFault& fault : faults) {
    for (const char* method : {"GET", "PUT", "POST"}) {
      const auto disturb = [&](Leaders& leaders) {
        leaders.server.fail_next(method, "configmaps", fault, 4);
      };
      EXPECT_EQ(problem_of_a_run(disturb, seconds(50)), "") << method << " " << text_of(fault);
    }
  }
}

}  // namespace
}  // namespace fairlead
