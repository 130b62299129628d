// Scheduler, agents and a cluster in memory: gangs that take turns in place.
#include "fairlead/agent/testing_node.h"
#include "fairlead/pods/testing_scheduler.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <map>
#include <memory>
#include <set>

namespace fairlead {
namespace {

constexpr const char* kPolicy = "gandiva-fair:quantum_s=20,resident=true";

class InPlace : public RunToTheEnd {
 public:
  explicit InPlace(std::uint32_t slots_per_gpu = 2) {
    server.act("POST", "/api/v1/namespaces", {{"metadata", {{"name", "fairlead"}}}});
    for (const std::string name : {"a", "b"}) {
      server.add_node({.name = name, .gpus = 2});
      nodes.push_back(std::make_unique<TestingNode>(server, name, slots_per_gpu));
    }
    server.run_until(Time{} + seconds(2));  // the slots are there
  }

  void add(const std::string& user, const std::string& name, std::int64_t pods, std::int64_t gpus,
           Duration run = {}) {
    server.add_job({.name_space = user,
                    .name = name,
                    .pods = pods,
                    .gpus = gpus,
                    .run = run,
                    .resource = std::string(kSlotResource)});
  }

  std::vector<Pod> pods() {
    std::vector<Pod> found;
    const FakeAnswer list = server.act("GET", "/api/v1/pods");
    for (const Json& pod : json_at(list.body, {"items"})) found.push_back(parse_pod(pod));
    return found;
  }
  std::size_t pods_of(const std::string& job) {
    const std::vector<Pod> all = pods();
    return static_cast<std::size_t>(std::ranges::count_if(
        all, [&](const Pod& pod) { return pod.name.starts_with(job + "-") && !pod.is_leaving; }));
  }
  // Returns the problem of a GPU that runs two gangs, or of a pod that its kubelet refused; empty: none. A deleted pod
  // may spend its grace period beside running pods.
  std::string problem() override {
    if (std::string refused = refusal(server); !refused.empty()) return refused;
    std::map<std::pair<std::string, int>, std::string> runs;
    for (const Pod& pod : pods()) {
      if (pod.state != Pod::State::kRunning || pod.is_leaving) continue;
      if (server.cluster().is_frozen(pod.uid)) continue;
      for (std::uint64_t left = pod.mask; left != 0; left &= left - 1) {
        const auto at = std::pair(pod.node, std::countr_zero(left));
        const auto [other, is_first] = runs.try_emplace(at, pod.owner);
        if (!is_first && other->second != pod.owner)
          return fmt::format("GPU {} of {} runs two gangs", at.second, at.first);
      }
    }
    return {};
  }
  std::size_t suspensions() {
    return static_cast<std::size_t>(std::ranges::count_if(server.calls(), [](const FakeCall& call) {
      return call.method == "PATCH" && call.body.find("\"suspend\":true") != std::string::npos;
    }));
  }
  void run_for(Scheduler& live, Duration time) {
    const Time end = server.now() + time;
    while (server.now() < end) {
      ASSERT_TRUE(live.step());
      ASSERT_EQ(problem(), "") << "at " << to_seconds(server.now()) << " s";
    }
  }

  std::vector<std::unique_ptr<TestingNode>> nodes;

 private:
  std::string policy() const override { return kPolicy; }
  bool leads() const override { return true; }
  Duration limit() const override { return seconds(3600); }
};

TEST(InPlace, TwoGangsOverTwoNodesTakeTurnsWithoutARestart) {
  InPlace bed;
  bed.server.act("POST", "/api/v1/namespaces/fairlead/configmaps",
                 {{"metadata", {{"name", "fairlead"}}}, {"data", {{"tickets", "bob: 2"}}}});
  bed.add("ann", "x", 2, 2);
  bed.add("bob", "y", 2, 2);
  Scheduler live(bed.server, kPolicy, "s1");
  bed.run_for(live, seconds(3600));
  EXPECT_NEAR(live.attained_gpu_s("bob/y") / live.attained_gpu_s("ann/x"), 2, 0.06);
  EXPECT_GT(live.attained_gpu_s("bob/y") + live.attained_gpu_s("ann/x"), 3500 * 4);
  EXPECT_EQ(bed.suspensions(), 0U);
  EXPECT_EQ(bed.pods_of("x"), 2U);
  EXPECT_EQ(bed.pods_of("y"), 2U);
}

TEST(InPlace, PodsThatNameTheirGangRestInPlaceAsWellWhateverTheirBudgetSays) {
  InPlace bed;
  const FakeAnswer made =
      bed.server.act("POST", "/apis/policy/v1/namespaces/bob/poddisruptionbudgets",
                     {{"metadata", {{"name", "none"}}},
                      {"spec", {{"selector", {{"matchLabels", {{"app", "y"}}}}}}},
                      {"status", {{"disruptionsAllowed", 0}}}});
  ASSERT_EQ(made.status, 201);
  bed.add("ann", "x", 2, 2);
  bed.server.add_job(
      {.name_space = "bob",
       .name = "y",
       .pods = 2,
       .gpus = 2,
       .pod_annotations = {{std::string(kGangOf), "y"}, {std::string(kGangSize), "2"}},
       .pod_labels = {{"app", "y"}},
       .resource = std::string(kSlotResource)});
  Scheduler live(bed.server, kPolicy, "s1");
  bed.run_for(live, seconds(1200));
  EXPECT_NEAR(live.attained_gpu_s("bob/y") / live.attained_gpu_s("ann/x"), 1, 0.1);
  EXPECT_GT(live.attained_gpu_s("bob/y") + live.attained_gpu_s("ann/x"), 1150 * 4);
  EXPECT_EQ(bed.suspensions(), 0U);
  EXPECT_TRUE(std::ranges::none_of(
      bed.server.calls(), [](const FakeCall& call) { return call.path.ends_with("/eviction"); }));
  EXPECT_EQ(bed.pods_of("y"), 2U);
}

TEST(InPlace, WhatIsNotToBeStoppedIsNotFrozen) {
  InPlace bed;
  bed.server.add_job({.name_space = "ann",
                      .name = "x",
                      .pods = 2,
                      .gpus = 2,
                      .annotations = {{std::string(kPreemptible), "false"}},
                      .resource = std::string(kSlotResource)});
  Scheduler live(bed.server, kPolicy, "s1");
  bed.run_for(live, seconds(10));
  bed.add("bob", "y", 1, 1);
  bed.run_for(live, seconds(600));
  EXPECT_EQ(bed.pods_of("x"), 2U);
  for (const Pod& pod : bed.pods()) {
    EXPECT_EQ(pod.name.starts_with("x-"), wishes_run(pod.wish)) << pod.name << ": " << pod.wish;
  }
}

TEST(InPlace, AWishIsWrittenOnTheVersionThatItNamesSoThatALateOneFails) {
  InPlace bed;
  bed.add("ann", "x", 2, 2);
  bed.add("bob", "y", 2, 2);
  Scheduler live(bed.server, kPolicy, "s1");
  bed.run_for(live, seconds(120));
  int wishes = 0;
  for (const FakeCall& call : bed.server.calls()) {
    const Json metadata = json_at(parsed_json(call.body).value_or(Json()), {"metadata"});
    const std::string& wish = text_at(metadata, {"annotations", kWish});
    if (wish.empty()) continue;
    ++wishes;
    EXPECT_EQ(fmt::to_string(wish_version(wish)), text_at(metadata, {"resourceVersion"}));
  }
  EXPECT_GT(wishes, 16);
}

TEST(InPlace, PodsAreToldTheirGpus) {
  InPlace bed;
  bed.add("ann", "x", 2, 1);
  bed.add("bob", "y", 1, 1);
  Scheduler live(bed.server, kPolicy, "s1");
  bed.run_for(live, seconds(15));
  std::map<std::string, std::uint64_t> taken;
  for (const Pod& pod : bed.pods()) {
    EXPECT_EQ(std::popcount(pod.mask), 1) << pod.name;
    EXPECT_EQ(taken[pod.node] & pod.mask, 0U) << pod.name;
    taken[pod.node] |= pod.mask;
  }
}

TEST(InPlace, AResidentTooManyIsSuspended) {
  InPlace bed(2);
  for (const std::string user : {"ann", "bob", "cy"}) bed.add(user, "of-" + user, 2, 2);
  Scheduler live(bed.server, kPolicy, "s1");
  bed.run_for(live, seconds(1800));
  EXPECT_GT(bed.suspensions(), 5U);
  for (const std::string user : {"ann", "bob", "cy"}) {
    EXPECT_GT(live.attained_gpu_s(user + "/of-" + user), 1800 * 4 / 3 * 0.8) << user;
  }
}

TEST(InPlace, WithoutAgentsGangsTakeTurnsBySuspension) {
  InPlace bed;
  bed.add("ann", "x", 2, 2);
  bed.add("bob", "y", 2, 2);
  for (const auto& node : bed.nodes) node->end();
  Scheduler live(bed.server, "gandiva-fair:quantum_s=120,resident=true", "s1");
  bed.run_for(live, seconds(1800));
  EXPECT_GT(bed.suspensions(), 5U);
  EXPECT_NEAR(live.attained_gpu_s("bob/y") / live.attained_gpu_s("ann/x"), 1, 0.2);
}

TEST(InPlace, AnotherSchedulerGoesOnWithThoseThatRest) {
  InPlace bed;
  bed.add("ann", "x", 2, 2);
  bed.add("bob", "y", 2, 2);
  {
    Scheduler first(bed.server, kPolicy, "s1");
    bed.run_for(first, seconds(100));
  }
  Scheduler second(bed.server, kPolicy, "s2");
  bed.run_for(second, seconds(600));
  EXPECT_EQ(bed.suspensions(), 0U);
  EXPECT_NEAR(second.attained_gpu_s("bob/y") / second.attained_gpu_s("ann/x"), 1, 0.1);
}

TEST(InPlace, AnotherSchedulerKnowsWhereThoseRestThatDoNotRun) {
  InPlace bed;
  for (const std::string name : {"w", "x", "y", "z"}) bed.add("of-" + name, name, 1, 2);
  {
    Scheduler first(bed.server, kPolicy, "s1");
    bed.run_for(first, seconds(110));
  }
  std::multiset<std::pair<std::string, std::uint64_t>> pods;
  for (const Pod& pod : bed.pods()) pods.emplace(pod.node, pod.mask);
  const Scheduler second(bed.server, kPolicy, "s2");
  const Tables& tables = second.tables();
  std::multiset<std::pair<std::string, std::uint64_t>> known;
  for (JobId job : ids<JobId>(tables.jobs.size())) {
    const Gang last = tables.jobs.last_gang(job);
    ASSERT_EQ(last.size(), 1U) << tables.names[job];
    known.emplace(tables.cluster.node_names[last[0].node],
                  tables.jobs.gangs.gpu_masks(tables.jobs.last[job])[0]);
  }
  EXPECT_EQ(known.size(), 4U);
  EXPECT_EQ(known, pods);
  EXPECT_EQ(tables.running.members().size(), 2U);
}

TEST(InPlace, AUserMayHoldAJobThatRests) {
  InPlace bed;
  bed.add("ann", "x", 2, 2);
  bed.add("bob", "y", 2, 2);
  Scheduler live(bed.server, kPolicy, "s1");
  bed.run_for(live, seconds(70));
  for (const std::string job : {"ann/jobs/x", "bob/jobs/y"}) {
    bed.server.act("PATCH", "/apis/batch/v1/namespaces/" + job, {{"spec", {{"suspend", true}}}});
  }
  bed.run_for(live, seconds(10));
  EXPECT_TRUE(bed.pods().empty());
}

// --- What goes wrong --------------------------------------------------------------------------

// Three gangs that take turns in place, two of which fit.
class Turns : public InPlace {
 public:
  Turns() {
    add("ann", "x", 2, 2, seconds(60));
    add("bob", "y", 1, 2, seconds(60));
    add("cy", "z", 2, 1, seconds(60));
  }
};

TEST(InPlaceFaults, GangsComeToTheirEndsWhateverCallGoesWrong) { try_faults<Turns>(6); }

TEST(InPlaceFaults, GangsComeToTheirEndsWhereverTheSchedulerIsKilled) { try_kills<Turns>(20, 3); }

TEST(InPlaceFaults, GangsComeToTheirEndsWheneverAnAgentIsKilled) {
  for (std::int64_t second = 3; second < 200;
       second += 5 * static_cast<std::int64_t>(fault_stride())) {
    for (const Duration away : {seconds(1), seconds(50)}) {
      Turns turns;
      turns.server.at(Time{} + seconds(second), [&] { turns.nodes[0]->kill(away); });
      EXPECT_EQ(turns.run(), "") << "at " << second << " s for " << to_seconds(away) << " s";
    }
  }
}

TEST(InPlaceFaults, GangsComeToTheirEndsThroughOutages) {
  try_outages<Turns>(seconds(3), seconds(9), seconds(200));
}

TEST(InPlaceFaults, WithoutASchedulerNoPodStaysFrozen) {
  int frozen = 0;
  for (std::uint64_t k = 40; k <= 160; k += 10) {
    Turns turns;
    {
      Scheduler live(turns.server, kPolicy, "s1");
      while (turns.server.calls().size() < k && live.step()) {
      }
    }
    for (const auto& node : turns.nodes) frozen += !node->freezer().frozen().empty();
    turns.server.run_until(turns.server.now() + seconds(75));
    for (const auto& node : turns.nodes) EXPECT_TRUE(node->freezer().frozen().empty()) << k;
  }
  EXPECT_GT(frozen, 10);
}

}  // namespace
}  // namespace fairlead
