#include "fairlead/kube/testing_faults.h"
#include "fairlead/pods/pods_server.h"
#include "fairlead/pods/testing_scheduler.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

namespace fairlead {
namespace {

class ClusterChanges : public testing::Test {
 protected:
  // Serves for that time in one process.
  void serve(Duration time, const std::string& policy = "fifo:skip=true") {
    server_.run_until(server_.now() + seconds(1));  // the pods exist
    server_.at(server_.now() + time, [this] { server_.terminate(); });
    const auto door = server_.open();
    const Status served =
        serve_pods(*door, {.policy = policy, .identity = fmt::format("p{}", server_.now().ms)},
                   [this](const std::string& line) { said_.push_back(line); });
    EXPECT_TRUE(served) << served.error().message;
  }
  void after(Duration time, std::function<void()> act) { server_.at(server_.now() + time, act); }
  // Returns the node of each running pod of a Job, by the pod's name.
  std::map<std::string, std::string> places(const std::string& job) {
    std::map<std::string, std::string> places;
    const FakeAnswer list = server_.act("GET", "/api/v1/pods");
    for (const Json& pod : json_at(list.body, {"items"})) {
      const std::string& name = text_at(pod, {"metadata", "name"});
      if (!name.starts_with(job + "-") || text_at(pod, {"status", "phase"}) != "Running") continue;
      places[name] = text_at(pod, {"spec", "nodeName"});
    }
    return places;
  }
  std::string node_of(const std::string& job) {
    const auto found = places(job);
    return found.empty() ? "" : found.begin()->second;
  }
  int said(const std::string& part) const {
    return static_cast<int>(std::ranges::count_if(
        said_, [&](const std::string& line) { return line.find(part) != std::string::npos; }));
  }
  // Returns the last event with that reason about a Job.
  std::string event(const std::string& job, const std::string& reason) {
    std::string found;
    const FakeAnswer list = server_.act("GET", "/api/v1/events");
    for (const Json& each : json_at(list.body, {"items"})) {
      if (text_at(each, {"involvedObject", "name"}) == job && text_at(each, {"reason"}) == reason) {
        found = text_at(each, {"message"});
      }
    }
    return found;
  }
  // Returns the message of the condition PodScheduled of a Job's pod.
  std::string waiting(const std::string& job) {
    const FakeAnswer list = server_.act("GET", "/api/v1/pods");
    for (const Json& pod : json_at(list.body, {"items"})) {
      if (!text_at(pod, {"metadata", "name"}).starts_with(job + "-")) continue;
      return text_at(item_at(pod, {"status", "conditions"}, "type", "PodScheduled"), {"message"});
    }
    return {};
  }
  void set_label(const std::string& node, const std::string& key, const Json& value) {
    server_.act("PATCH", "/api/v1/nodes/" + node, {{"metadata", {{"labels", {{key, value}}}}}});
  }
  // Adds a pod of another scheduler on a node.
  void add_foreign(const std::string& name, const std::string& node,
                   std::map<std::string, std::string> requests) {
    server_.add_job({.name_space = "web",
                     .name = name,
                     .pods = 0,
                     .gpus = 0,
                     .scheduler = "default-scheduler",
                     .requests = std::move(requests)});
    server_.act("POST", "/api/v1/namespaces/web/pods/" + name + "/binding",
                {{"apiVersion", "v1"},
                 {"kind", "Binding"},
                 {"metadata", {{"name", name}}},
                 {"target", {{"kind", "Node"}, {"name", node}}}});
  }

  FakeServer server_{1};
  std::vector<std::string> said_;
};

Json selector(const std::string& key, const std::string& value) {
  return {{"nodeSelector", {{key, value}}}};
}

TEST_F(ClusterChanges, AGangIsPlacedOnlyWhereItsPodsMayBe) {
  server_.add_node({.name = "a"});
  server_.add_node({.name = "b", .labels = {{"pool", "x"}}});
  server_.add_node(
      {.name = "c", .taints = Json::array({{{"key", "dedicated"}, {"effect", "NoSchedule"}}})});
  const Json tolerant = {{"tolerations", Json::array({{{"operator", "Exists"}}})},
                         {"nodeSelector", {{"kubernetes.io/hostname", "c"}}}};
  server_.add_job({.name = "x", .pods = 2, .gpus = 4, .pod_spec = selector("pool", "x")});
  server_.add_job({.name = "c", .gpus = 8, .pod_spec = tolerant});
  server_.add_job({.name = "any", .gpus = 8});
  after(seconds(30), [this] { server_.add_job({.name = "more", .gpus = 1}); });
  serve(seconds(60));
  EXPECT_EQ(node_of("x"), "b");
  EXPECT_EQ(node_of("c"), "c");
  EXPECT_EQ(node_of("any"), "a");
  EXPECT_EQ(node_of("more"), "") << "only c has GPUs that are free";
}

TEST_F(ClusterChanges, AGangThatNoNodeWillDoForIsRefusedUntilOneDoes) {
  server_.add_node({.name = "a"});
  server_.add_job({.name = "train", .gpus = 1, .pod_spec = selector("pool", "x")});
  after(seconds(60), [this] {
    EXPECT_EQ(event("train", "Refused"),
              "none of 1 nodes with GPUs will do: 1 without label pool=x");
    set_label("a", "pool", "x");
  });
  serve(seconds(120));
  EXPECT_EQ(node_of("train"), "a");
}

TEST_F(ClusterChanges, ANodeThatComesIsUsedAndNoGangThatRunsIsMoved) {
  server_.add_node({.name = "a"});
  server_.add_job({.name = "first", .gpus = 8});
  after(seconds(15), [this] { server_.add_job({.name = "second", .gpus = 8}); });
  std::map<std::string, std::string> before;
  after(seconds(30), [&] {
    before = places("first");
    server_.add_node({.name = "v", .gpus = 8, .product = "Tesla-V100-SXM2-32GB"});
  });
  serve(seconds(90));
  EXPECT_EQ(before.size(), 1U);
  EXPECT_EQ(places("first"), before);
  EXPECT_EQ(node_of("second"), "v");
  EXPECT_EQ(said("rebuilding state"), 1);
}

TEST_F(ClusterChanges, AJobThatTellsNodesApartMakesTypesAndNoGangThatRunsIsMoved) {
  server_.add_node({.name = "a", .labels = {{"disk", "ssd"}}});
  server_.add_node({.name = "b"});
  server_.add_job({.name = "first", .gpus = 8});
  server_.add_job({.name = "wide", .gpus = 4});
  std::map<std::string, std::string> before;
  after(seconds(30), [&] {
    before = places("first");
    before.merge(places("wide"));
    for (const char* name : {"s", "t"}) {
      server_.add_job({.name = name, .gpus = 4, .pod_spec = selector("disk", "ssd")});
    }
  });
  serve(seconds(90));
  std::map<std::string, std::string> now = places("first");
  now.merge(places("wide"));
  EXPECT_EQ(now, before);
  EXPECT_EQ(before.size(), 2U);
  EXPECT_EQ(said("rebuilding state"), 1);
  for (const auto& [pod, node] : places("s")) EXPECT_EQ(node, "a");
}

TEST_F(ClusterChanges, AJobWhoseTemplateIsChangedGoesWhereItSaysThen) {
  server_.add_node({.name = "a", .labels = {{"disk", "ssd"}}});
  server_.add_node({.name = "b", .labels = {{"disk", "hdd"}}});
  server_.add_job(
      {.name = "train", .gpus = 8, .is_suspended = true, .pod_spec = selector("disk", "ssd")});
  after(seconds(30), [this] {
    const Json spec = {{"template", {{"spec", selector("disk", "hdd")}}}};
    server_.act("PATCH", "/apis/batch/v1/namespaces/default/jobs/train", {{"spec", spec}});
  });
  after(seconds(60), [this] {
    server_.act("PATCH", "/apis/batch/v1/namespaces/default/jobs/train",
                {{"spec", {{"suspend", false}}}});
  });
  serve(seconds(90));
  EXPECT_EQ(node_of("train"), "b");
}

TEST_F(ClusterChanges, ThereMayBeNoNodesYet) {
  server_.add_job({.name = "train", .gpus = 8});
  after(seconds(60), [this] { server_.add_node({.name = "a"}); });
  serve(seconds(120));
  EXPECT_EQ(said("there are no nodes with GPUs; waiting"), 1);
  EXPECT_EQ(node_of("train"), "a");
}

TEST_F(ClusterChanges, AGangGoesWhereThereIsEnoughOfAllItAsksFor) {
  for (const char* name : {"a", "b"}) server_.add_node({.name = name, .cpu = "16"});
  add_foreign("web", "a", {{"cpu", "10"}});
  server_.run_until(Time{} + seconds(5));
  server_.add_job({.name = "train", .gpus = 4, .requests = {{"cpu", "8"}}});
  serve(seconds(120), "fifo:skip=true,placement=first-fit");
  EXPECT_EQ(node_of("train"), "b");
  EXPECT_EQ(event("train", "Stopped"), "") << "it goes there the first time";
}

TEST_F(ClusterChanges, AGangThatNeedsMoreCpuThanItsShareOfANodeIsSpreadTheFirstTime) {
  for (const std::string policy :
       {"fairlead", "fifo:skip=true", "fifo:skip=true,placement=consolidate", "gandiva-fair",
        "gang-stride", "hadar", "tiresias"}) {
    FakeServer server(1);
    for (int i = 0; i < 6; ++i) server.add_node({.name = fmt::format("n{}", i)});
    server.add_job({.name = "train", .pods = 8, .gpus = 1, .requests = {{"cpu", "16"}}});
    server.add_job({.name_space = "bob", .name = "other", .pods = 4, .gpus = 8});
    Scheduler live(server, policy);
    live.run_for(seconds(60));
    EXPECT_EQ(live.state("default/train"), JobState::kRunning) << policy;
    EXPECT_EQ(live.state("bob/other"), JobState::kRunning) << policy;
    EXPECT_TRUE(live.failures().empty()) << policy;
  }
}

TEST_F(ClusterChanges, PodsWithOnePortOfTheHostGoToDifferentNodes) {
  for (int i = 0; i < 7; ++i) server_.add_node({.name = fmt::format("n{}", i)});
  const Json on_host = {
      {"hostNetwork", true},
      {"containers", Json::array({{{"name", "c"},
                                   {"resources", {{"limits", {{"nvidia.com/gpu", 1}}}}},
                                   {"ports", Json::array({{{"containerPort", 29500}}})}}})}};
  for (const char* name : {"a", "b", "c", "d"}) {
    server_.add_job({.name = name, .pods = 2, .gpus = 1, .run = seconds(60), .pod_spec = on_host});
  }
  after(seconds(20), [this] {
    for (const char* name : {"x", "y", "z"}) {
      server_.add_job({.name_space = "bob", .name = name, .gpus = 8});
    }
  });
  after(seconds(120), [this] {
    for (const char* name : {"x", "y", "z"}) EXPECT_NE(node_of(name), "") << name;
  });
  serve(seconds(150), "fairlead");
  for (const char* name : {"a", "b", "c", "d"}) EXPECT_EQ(event(name, "Stopped"), "") << name;
  EXPECT_EQ(all_jobs_done(server_), false) << "the jobs of bob do not end";
}

TEST_F(ClusterChanges, AGangWaitsForWhatIsNotThereAndRunsOnceItIs) {
  server_.add_node({.name = "a", .memory = "64Gi"});
  add_foreign("cache", "a", {{"memory", "60Gi"}});
  server_.run_until(Time{} + seconds(5));
  server_.add_job({.name = "train", .gpus = 8, .requests = {{"memory", "8Gi"}}});
  after(seconds(1000), [this] {
    EXPECT_EQ(node_of("train"), "");
    EXPECT_EQ(event("train", "Stopped"), "");
    EXPECT_EQ(said("train is placed"), 0);
    EXPECT_NE(waiting("train").find("1 has too little memory"), std::string::npos);
    server_.act("DELETE", "/api/v1/namespaces/web/pods/cache");
  });
  serve(seconds(1400));
  EXPECT_EQ(node_of("train"), "a");
}

TEST_F(ClusterChanges, TwoGangsThatTakeTurnsWaitForEachOthersMemory) {
  server_.add_node({.name = "a", .memory = "64Gi"});
  server_.add_job({.name_space = "ann", .name = "x", .gpus = 4, .requests = {{"memory", "40Gi"}}});
  server_.add_job({.name_space = "bob", .name = "y", .gpus = 4, .requests = {{"memory", "40Gi"}}});
  serve(seconds(7200), "gang-stride:quantum_s=60");
  for (const FakeAnswer list = server_.act("GET", "/api/v1/pods");
       const Json& pod : json_at(list.body, {"items"})) {
    EXPECT_FALSE(text_at(pod, {"status", "reason"}).starts_with("OutOf"));
  }
  EXPECT_GT(said("ann/x is placed"), 3);
  EXPECT_GT(said("bob/y is placed"), 3);
}

// Gangs take turns. A node joins and a Job selects some of the equal nodes; each ends a world.
class Changes {
 public:
  Changes() {
    server.add_node({.name = "a", .gpus = 4});
    add("ann", "x", 2, 2);
    add("bob", "y", 1, 4);
    server.at(Time{} + seconds(30), [this] { server.add_node({.name = "b", .gpus = 4}); });
    server.at(Time{} + seconds(50), [this] {
      add("cy", "z", 1, 2, {{"kubernetes.io/hostname", "b"}});
    });
    server.at(Time{} + seconds(900), [this] { server.terminate(); });
  }
  // Returns the problems, or an empty text.
  std::string run() {
    const auto door = server.open();
    const Status served =
        serve_pods(*door, {.policy = "gang-stride:quantum_s=20", .identity = "p"},
                   [&](const std::string& line) { worlds += line.starts_with("leads ") ? 1 : 0; });
    if (!served) return served.error().message;
    std::string problems;
    for (const FakeAnswer jobs = server.act("GET", "/apis/batch/v1/jobs");
         const Json& job : json_at(jobs.body, {"items"})) {
      if (text_at(item_at(job, {"status", "conditions"}, "type", "Complete"), {"status"}) != "True")
        problems += text_at(job, {"metadata", "name"}) + " has not ended; ";
      if (integer_at(job, {"status", "failed"}) > 0) problems += "a pod failed; ";
    }
    return problems;
  }

  FakeServer server{1};
  int worlds = 0;

 private:
  void add(const std::string& user, const std::string& name, int pods, int gpus,
           const Json& selector = Json::object()) {
    server.add_job({.name_space = user,
                    .name = name,
                    .pods = pods,
                    .gpus = gpus,
                    .run = seconds(90),
                    .pod_spec = {{"nodeSelector", selector}}});
  }
};

TEST(ClusterChangesFaults, GangsComeToTheirEndsWhateverCallGoesWrongAsTheClusterChanges) {
  Changes calm;
  ASSERT_EQ(calm.run(), "");
  ASSERT_EQ(calm.worlds, 3);
  const std::uint64_t calls = 200;  // later calls find no work left
  ASSERT_GT(calm.server.calls().size(), calls);
  const std::array<FakeFault, 4> faults{{{.status = 409},
                                         {.kind = FakeFault::Kind::kLostRequest},
                                         {.kind = FakeFault::Kind::kLostAnswer},
                                         {.kind = FakeFault::Kind::kLate}}};
  try_faults<Changes>(faults.size(), calls, faults);  // each call meets one of them
}

TEST_F(ClusterChanges, WhatAPodIsNotLookedAtForIsRefused) {
  server_.add_node({.name = "a"});
  server_.add_job({.name = "train",
                   .gpus = 1,
                   .pod_spec = {{"topologySpreadConstraints", Json::array({{{"maxSkew", 1}}})}}});
  serve(seconds(20));
  EXPECT_EQ(event("train", "Refused"),
            "its pods have a topologySpreadConstraint with DoNotSchedule, which Fairlead does "
            "not support");
}

}  // namespace
}  // namespace fairlead
