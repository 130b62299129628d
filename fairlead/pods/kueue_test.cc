// Turns of Workloads under a Kueue in memory (kube/fake_kueue.h).

#include "fairlead/kube/fake_objects.h"
#include "fairlead/pods/resume_all.h"
#include "fairlead/pods/testing_scheduler.h"
#include "fairlead/pods/workload.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace fairlead {
namespace {

const std::string kPolicy = "gang-stride:quantum_s=1800,mixed=true";
const std::string kDefaultPolicy = "fairlead:window_s=3600,round_s=1800,switch_s=1800";

struct Asked {
  std::string user;
  std::string name;
  std::int64_t gpus = 8;
  std::int64_t priority = 0;
  Duration run{};
  std::string queue = "lab";
  Json annotations = Json::object();
};

std::string path_of(const std::string& user, const std::string& name) {
  return fmt::format("/apis/kueue.x-k8s.io/v1beta1/namespaces/{}/workloads/{}", user, name);
}

void add_queue(FakeServer& server, const std::string& name, std::int64_t gpus,
               const std::string& preemption = "Never") {
  const Json quota = {{"name", "nvidia.com/gpu"}, {"nominalQuota", gpus}};
  const Json flavors = Json::array({{{"name", "h100"}, {"resources", Json::array({quota})}}});
  const Json group = {{"coveredResources", {"nvidia.com/gpu"}}, {"flavors", flavors}};
  server.act("POST", "/apis/kueue.x-k8s.io/v1beta1/clusterqueues",
             {{"metadata", {{"name", name}}},
              {"spec",
               {{"resourceGroups", Json::array({group})},
                {"preemption", {{"withinClusterQueue", preemption}}}}}});
}

// Adds a Workload, and the LocalQueue of its namespace.
void add(FakeServer& server, const Asked& asked) {
  server.act("POST",
             fmt::format("/apis/kueue.x-k8s.io/v1beta1/namespaces/{}/localqueues", asked.user),
             {{"metadata", {{"name", asked.queue}}}, {"spec", {{"clusterQueue", asked.queue}}}});
  Json resources = Json::object();
  if (asked.gpus > 0) resources["limits"] = {{"nvidia.com/gpu", fmt::to_string(asked.gpus)}};
  const Json pod = {
      {"spec", {{"containers", Json::array({{{"name", "c"}, {"resources", resources}}})}}}};
  Json annotations = asked.annotations;
  if (asked.run.ms > 0) annotations[std::string(kFakeRun)] = fmt::to_string(asked.run.ms);
  server.act("POST",
             fmt::format("/apis/kueue.x-k8s.io/v1beta1/namespaces/{}/workloads", asked.user),
             {{"metadata", {{"name", asked.name}, {"annotations", annotations}}},
              {"spec",
               {{"queueName", asked.queue},
                {"priority", asked.priority},
                {"active", true},
                {"podSets", Json::array({{{"name", "main"}, {"count", 1}, {"template", pod}}})}}}});
}

class KueueTest : public testing::Test {
 protected:
  void SetUp() override {
    server_.cluster().kueue().serve();
    add_queue(server_, "lab", 8);
  }
  Json workload(const std::string& user, const std::string& name) {
    return server_.act("GET", path_of(user, name)).body;
  }
  bool is_active(const std::string& user, const std::string& name) {
    return is_true_at(workload(user, name), {"spec", "active"});
  }
  bool is_admitted(const std::string& user, const std::string& name) {
    return has_condition(workload(user, name), "Admitted");
  }
  double admitted_s(const std::string& user, const std::string& name) {
    return static_cast<double>(
               server_.cluster().kueue().admitted(uid_of(workload(user, name))).ms) /
           1000;
  }
  std::string evicted_for(const std::string& user, const std::string& name) {
    const Json object = workload(user, name);
    return text_at(item_at(object, {"status", "conditions"}, "type", "Evicted"), {"reason"});
  }
  // Returns the number of writes of Workloads by schedulers.
  std::ptrdiff_t writes() {
    return std::ranges::count_if(server_.calls(), [](const FakeCall& call) {
      return call.method == "PATCH" && call.path.find("/workloads/") != call.path.npos;
    });
  }

  FakeServer server_{1};
  const PodsOptions options_{.source = GangSource::kKueue};
};

TEST_F(KueueTest, AWorkloadIsAGangOfItsGpusWithTheNameOfItsJob) {
  const Json made = Json::parse(R"({
    "metadata": {"name": "job-train-1a2b3", "namespace": "ann", "uid": "u",
                 "ownerReferences": [{"kind": "Job", "name": "train", "controller": true}]},
    "spec": {"active": false, "priority": 7, "podSets": [
      {"name": "launcher", "count": 1, "template": {"spec": {"containers": [{"name": "c"}]}}},
      {"name": "worker", "count": 3, "template": {
        "metadata": {"annotations": {"fairlead.dev/model": "bert", "fairlead.dev/time-s": "60"}},
        "spec": {"containers": [{"name": "c", "resources": {"limits": {"nvidia.com/gpu": 4}}}]}}}]},
    "status": {"conditions": [{"type": "QuotaReserved", "status": "False", "message": "no room"}]}
  })");
  const Owner owner = owner_of_workload(made, "lab");
  EXPECT_EQ(owner.name, "train");
  EXPECT_EQ(owner.path_name(), "job-train-1a2b3");
  EXPECT_EQ(owner.pods, 12U);
  EXPECT_EQ(owner.task_gpus, 1U);
  EXPECT_EQ(owner.model, "bert");
  EXPECT_EQ(owner.time, seconds(60));
  EXPECT_EQ(owner.priority, 7);
  EXPECT_TRUE(owner.is_suspended);
  EXPECT_TRUE(owner.is_held_by_user());
  EXPECT_EQ(owner.pending, "Kueue has no quota for it: no room");
}

TEST_F(KueueTest, AQuotaIsNodesOfAtMost64GpusWithTheProductOfTheFlavor) {
  const Json queue = Json::parse(R"({
    "metadata": {"name": "lab"}, "spec": {"resourceGroups": [
      {"coveredResources": ["cpu", "nvidia.com/gpu"], "flavors": [{"name": "f", "resources": [
        {"name": "cpu", "nominalQuota": "500"}, {"name": "nvidia.com/gpu", "nominalQuota": "100"}]}]}]}
  })");
  const std::vector<Node> nodes = nodes_of_queue(queue, {{"f", "NVIDIA-H100-80GB-HBM3"}});
  ASSERT_EQ(nodes.size(), 2U);
  EXPECT_EQ(nodes[0].name, "lab");
  EXPECT_EQ(nodes[0].gpus, 64U);
  EXPECT_EQ(nodes[1].name, "lab.1");
  EXPECT_EQ(nodes[1].gpus, 36U);
  EXPECT_EQ(nodes[1].product, "NVIDIA-H100-80GB-HBM3");
  EXPECT_EQ(nodes_of_queue(queue, {})[0].product, "f");
}

TEST_F(KueueTest, WorkloadsThatFitAreLeftToKueue) {
  add(server_, {.user = "ann", .name = "a", .gpus = 4, .run = seconds(100)});
  add(server_, {.user = "bob", .name = "b", .gpus = 4});
  Scheduler live(server_, kPolicy, "", options_);
  live.run_for(seconds(50));
  EXPECT_EQ(live.state("ann/a"), JobState::kRunning);
  EXPECT_EQ(live.state("bob/b"), JobState::kRunning);
  live.run_for(seconds(100));
  EXPECT_EQ(live.state("ann/a"), JobState::kFinished);
  EXPECT_EQ(writes(), 0);
}

TEST_F(KueueTest, WorkloadsWithoutGpusAndOfOtherQueuesAreLeftAlone) {
  add_queue(server_, "other", 8);
  for (const char* user : {"ann", "bob"}) {
    add(server_, {.user = user, .name = "a"});
    add(server_, {.user = user, .name = "o", .queue = "other"});
    add(server_, {.user = user, .name = "cpu", .gpus = 0});
  }
  PodsOptions options = options_;
  options.queues = {"lab"};
  Scheduler live(server_, kPolicy, "", options);
  live.run_for(seconds(4000));
  for (const char* user : {"ann", "bob"}) {
    EXPECT_TRUE(is_active(user, "o"));
    EXPECT_TRUE(is_admitted(user, "cpu"));
  }
  EXPECT_NE(is_active("ann", "a"), is_active("bob", "a"));
  EXPECT_FALSE(live.job("ann/o"));
}

// Kueue's issue 8522: three users, one quota, unknown durations, turns of half an hour.
TEST_F(KueueTest, ThreeUsersOfOneQuotaEachHaveAThirdOfSixHours) {
  const std::vector<Asked> asked = {
      {.user = "ann", .name = "a1"},
      {.user = "ann", .name = "a2"},
      {.user = "ann", .name = "a3"},
      {.user = "bob", .name = "b1", .gpus = 4},
      {.user = "bob", .name = "b2", .gpus = 4},
      {.user = "cy", .name = "c1"},
  };
  for (const std::string& policy : {kPolicy, kDefaultPolicy}) {
    FakeServer server(1);
    server.cluster().kueue().serve();
    add_queue(server, "lab", 8);
    for (const Asked& one : asked) add(server, one);
    Scheduler live(server, policy, "", options_);
    live.run_for(seconds(6 * 3600));
    std::map<std::string, double> gpu_s;
    double sum = 0;
    for (const Asked& one : asked) {
      const Json found = server.act("GET", path_of(one.user, one.name)).body;
      const double s =
          static_cast<double>(server.cluster().kueue().admitted(uid_of(found)).ms) / 1000;
      gpu_s[one.user] += s * static_cast<double>(one.gpus);
      sum += s * static_cast<double>(one.gpus);
    }
    EXPECT_GT(sum, 0.99 * 8 * 6 * 3600) << policy;
    for (const auto& [user, its] : gpu_s) EXPECT_NEAR(its / sum, 1.0 / 3, 0.05) << user << policy;
    EXPECT_TRUE(live.failures().empty()) << live.failures().front();
  }
}

TEST_F(KueueTest, AnotherSchedulerTakesUpTheWorkloadsThatRun) {
  for (const char* user : {"ann", "bob"}) add(server_, {.user = user, .name = "a"});
  {
    Scheduler first(server_, kPolicy, "", options_);
    first.run_for(seconds(100));
  }
  const auto before = writes();
  const bool ann_runs = is_admitted("ann", "a");
  Scheduler second(server_, kPolicy, "", options_);
  second.run_for(seconds(100));
  EXPECT_EQ(writes(), before);
  EXPECT_EQ(is_admitted("ann", "a"), ann_runs);
  EXPECT_EQ(second.state(ann_runs ? "ann/a" : "bob/a"), JobState::kRunning);
}

TEST_F(KueueTest, AUsersDeactivationHoldsTheWorkloadUntilItsActivation) {
  add(server_, {.user = "ann", .name = "a", .gpus = 4});
  Scheduler live(server_, kPolicy, "", options_);
  live.run_for(seconds(20));
  server_.act("PATCH", path_of("ann", "a"), {{"spec", {{"active", false}}}});
  live.run_for(seconds(100));
  EXPECT_EQ(live.state("ann/a"), JobState::kHeld);
  EXPECT_FALSE(is_active("ann", "a"));
  server_.act("PATCH", path_of("ann", "a"), {{"spec", {{"active", true}}}});
  live.run_for(seconds(20));
  EXPECT_EQ(live.state("ann/a"), JobState::kRunning);
  EXPECT_EQ(writes(), 0);
}

TEST_F(KueueTest, KueuePreemptsByPriorityAndTheVictimGoesOnAfterwards) {
  add_queue(server_, "urgent", 8, "LowerPriority");
  for (const std::string& policy : {kPolicy, kDefaultPolicy}) {
    const std::string high = "high-" + policy.substr(0, 4);
    add(server_, {.user = "ann", .name = "low", .queue = "urgent"});
    Scheduler live(server_, policy, "", options_);
    live.run_for(seconds(60));
    EXPECT_TRUE(is_admitted("ann", "low"));
    add(server_,
        {.user = "bob", .name = high, .priority = 9, .run = seconds(4000), .queue = "urgent"});
    live.run_for(seconds(60));
    EXPECT_TRUE(is_admitted("bob", high)) << policy;
    EXPECT_EQ(evicted_for("ann", "low"), "Preempted");
    EXPECT_EQ(live.state("bob/" + high), JobState::kRunning);
    EXPECT_NE(live.state("ann/low"), JobState::kRunning);
    // It is not stopped for a lower priority.
    live.run_for(seconds(3800));
    EXPECT_TRUE(is_admitted("bob", high)) << policy;
    live.run_for(seconds(300));
    EXPECT_EQ(live.state("bob/" + high), JobState::kFinished);
    EXPECT_TRUE(is_admitted("ann", "low")) << policy;
  }
}

// The lower priority runs on beside them by its user's tickets.
TEST_F(KueueTest, AHighPriorityGivesItsGpusToAnotherWhileALowOneRuns) {
  server_.act("POST", "/api/v1/namespaces/fairlead/configmaps",
              {{"metadata", {{"name", "fairlead"}}}, {"data", {{"tickets", "cy: 1000"}}}});
  add(server_, {.user = "cy", .name = "low", .gpus = 4});
  add(server_, {.user = "ann", .name = "high", .gpus = 4, .priority = 9});
  Scheduler live(server_, "gang-stride:quantum_s=100", "", options_);
  live.run_for(seconds(60));
  EXPECT_TRUE(is_admitted("cy", "low"));
  EXPECT_TRUE(is_admitted("ann", "high"));
  add(server_, {.user = "bob", .name = "high", .gpus = 4, .priority = 9});
  live.run_for(seconds(1000));
  EXPECT_GT(admitted_s("cy", "low"), 1000);
  EXPECT_NEAR(admitted_s("ann", "high"), 530, 80);
  EXPECT_NEAR(admitted_s("bob", "high"), 500, 80);
  EXPECT_TRUE(live.failures().empty());
}

TEST_F(KueueTest, AHoldTakesTheGpusOfAHighPriorityWhileALowOneRuns) {
  add_queue(server_, "urgent", 8, "LowerPriority");
  add(server_, {.user = "cy", .name = "low", .gpus = 4, .queue = "urgent"});
  add(server_, {.user = "ann", .name = "high", .gpus = 4, .priority = 9, .queue = "urgent"});
  Scheduler live(server_, kPolicy, "", options_);
  live.run_for(seconds(60));
  EXPECT_TRUE(is_admitted("ann", "high"));
  server_.act("PATCH", path_of("ann", "high"),
              {{"metadata", {{"annotations", {{std::string(kHold), "true"}}}}}});
  live.run_for(seconds(60));
  EXPECT_FALSE(is_admitted("ann", "high"));
  EXPECT_EQ(live.state("ann/high"), JobState::kHeld);
  EXPECT_TRUE(is_admitted("cy", "low"));
}

TEST_F(KueueTest, AVictimOfAPreemptionMayTakeLongToLeave) {
  for (const Duration leave : {seconds(60), seconds(900)}) {
    for (const std::string& policy : {kPolicy, kDefaultPolicy}) {
      SCOPED_TRACE(fmt::format("{} {}", policy, leave.ms));
      FakeServer server(1);
      server.delays().stop = {leave, leave};
      server.cluster().kueue().serve();
      add_queue(server, "lab", 8, "LowerPriority");
      add(server, {.user = "ann", .name = "low"});
      Scheduler live(server, policy, "", options_);
      live.run_for(seconds(60));
      add(server, {.user = "bob", .name = "high", .priority = 9, .run = seconds(100)});
      live.run_for(leave - seconds(10));
      EXPECT_EQ(live.state("bob/high"), JobState::kRunning) << "it has its place";
      live.run_for(seconds(20));
      const Json high = server.act("GET", path_of("bob", "high")).body;
      EXPECT_TRUE(has_condition(high, "Admitted"));
      live.run_for(seconds(150));
      EXPECT_EQ(live.state("bob/high"), JobState::kFinished);
      EXPECT_EQ(live.state("ann/low"), JobState::kRunning);
      EXPECT_TRUE(live.failures().empty()) << live.failures().front();
      EXPECT_TRUE(std::ranges::none_of(server.calls(), [](const FakeCall& call) {
        return call.method == "PATCH" && call.path.ends_with("/high");
      })) << "it stays active";
    }
  }
}

TEST_F(KueueTest, AQueueThatIsMadeAgainKeepsItsWorkloads) {
  for (const Duration pause : {Duration{}, seconds(10)}) {
    FakeServer server(1);
    server.cluster().kueue().serve();
    add_queue(server, "lab", 8);
    for (const char* user : {"ann", "bob", "cy"})
      add(server, {.user = user, .name = "a", .gpus = 4, .run = seconds(3000)});
    Scheduler live(server, kPolicy, "", options_);
    live.run_for(seconds(20));
    server.act("DELETE", "/apis/kueue.x-k8s.io/v1beta1/clusterqueues/lab");
    live.run_for(pause);
    add_queue(server, "lab", 8);
    live.run_for(seconds(4 * 3600));
    for (const char* user : {"ann", "bob", "cy"}) {
      const Json found = server.act("GET", path_of(user, "a")).body;
      EXPECT_TRUE(has_condition(found, "Finished")) << user << pause.ms;
    }
  }
}

TEST_F(KueueTest, WorkloadsThatFairleadDeactivatedAreActiveOnceTheirQueueNoLongerCounts) {
  for (const char* user : {"ann", "bob", "cy"}) add(server_, {.user = user, .name = "a"});
  add(server_, {.user = "dan", .name = "own"});
  server_.act("PATCH", path_of("dan", "own"), {{"spec", {{"active", false}}}});
  Scheduler live(server_, kPolicy, "", options_);
  live.run_for(seconds(100));
  const auto lead_to = [&](const char* queue) {
    for (const char* user : {"ann", "bob", "cy", "dan"})
      server_.act("PATCH",
                  fmt::format("/apis/kueue.x-k8s.io/v1beta1/namespaces/{}/localqueues/lab", user),
                  {{"spec", {{"clusterQueue", queue}}}});
  };
  lead_to("none");
  live.run_for(seconds(10));
  for (const char* user : {"ann", "bob", "cy"}) {
    EXPECT_TRUE(is_active(user, "a")) << user;
    EXPECT_EQ(text_at(workload(user, "a"), {"metadata", "annotations", kSuspendedBy}), "") << user;
  }
  EXPECT_FALSE(is_active("dan", "own"));
  // They take turns again after it.
  lead_to("lab");
  live.run_for(seconds(4 * 1800));
  for (const char* user : {"ann", "bob", "cy"}) EXPECT_GT(admitted_s(user, "a"), 1500) << user;
  EXPECT_FALSE(is_active("dan", "own"));
}

TEST_F(KueueTest, AWorkloadThatKueueDoesNotAdmitGivesItsGpusBack) {
  add(server_, {.user = "ann", .name = "a", .annotations = {{std::string(kFakeLacks), "cpu"}}});
  Scheduler live(server_, "fifo:skip=true", "", options_);
  live.run_for(seconds(5));
  add(server_, {.user = "bob", .name = "b", .run = seconds(200)});
  live.run_for(seconds(15));
  EXPECT_FALSE(is_active("ann", "a"));
  EXPECT_TRUE(is_admitted("bob", "b"));
  const FakeAnswer events = server_.act("GET", "/api/v1/namespaces/ann/events");
  EXPECT_TRUE(std::ranges::any_of(json_at(events.body, {"items"}), [](const Json& event) {
    return text_at(event, {"message"}).find("insufficient unused quota for cpu") !=
           std::string::npos;
  }));
  server_.act("PATCH", path_of("ann", "a"),
              {{"metadata", {{"annotations", {{std::string(kFakeLacks), nullptr}}}}}});
  live.run_for(seconds(300));
  EXPECT_TRUE(is_admitted("ann", "a"));
}

// The pods of an evicted Workload may take minutes to end.
TEST_F(KueueTest, AWorkloadIsActivatedOnceTheOneBeforeHasLeftItsQuota) {
  server_.delays().stop = {seconds(100), seconds(100)};
  for (const char* user : {"ann", "bob"}) add(server_, {.user = user, .name = "a"});
  Scheduler live(server_, kPolicy, "", options_);
  live.run_for(seconds(1790));
  const std::string first = is_admitted("ann", "a") ? "ann" : "bob";
  const std::string second = first == "ann" ? "bob" : "ann";
  live.run_for(seconds(60));
  EXPECT_FALSE(is_active(first, "a"));
  EXPECT_FALSE(is_active(second, "a"));
  live.run_for(seconds(100));
  EXPECT_TRUE(is_admitted(second, "a"));
  EXPECT_TRUE(live.failures().empty());
}

TEST_F(KueueTest, LeavingActivatesWhatFairleadDeactivatedAndNothingElse) {
  for (const char* user : {"ann", "bob", "cy"}) add(server_, {.user = user, .name = "a"});
  add(server_, {.user = "dan", .name = "own"});
  server_.act("PATCH", path_of("dan", "own"), {{"spec", {{"active", false}}}});
  {
    Scheduler live(server_, kPolicy, "first", options_);
    live.run_for(seconds(100));
  }
  int active = 0;
  for (const char* user : {"ann", "bob", "cy"}) active += is_active(user, "a") ? 1 : 0;
  EXPECT_EQ(active, 1);
  const auto door = server_.open();
  const auto names = resume_all(*door, {.name_space = "fairlead", .identity = "hand"},
                                door->now() + seconds(60), GangSource::kKueue);
  ASSERT_TRUE(names) << names.error().message;
  EXPECT_EQ(names->size(), 2U);
  for (const char* user : {"ann", "bob", "cy"}) EXPECT_TRUE(is_active(user, "a")) << user;
  EXPECT_FALSE(is_active("dan", "own"));
}

// Three Workloads that take turns on one quota.
class WorkloadTurns : public RunToTheEnd {
 public:
  WorkloadTurns() {
    server.cluster().kueue().serve();
    add_queue(server, "lab", 8);
    add(server, {.user = "ann", .name = "x", .gpus = 4, .run = seconds(60)});
    add(server, {.user = "bob", .name = "y", .gpus = 8, .run = seconds(60)});
    add(server, {.user = "cy", .name = "z", .gpus = 6, .run = seconds(60)});
  }

 private:
  bool is_done() override {
    const auto all = server.store().list({std::string(kWorkloads), "", "", ""});
    return std::ranges::all_of(
        all, [](const FakeObject& one) { return has_condition(*one, "Finished"); });
  }
  PodsOptions pods_options() const override { return {.source = GangSource::kKueue}; }
};

TEST(KueueFaults, WorkloadsComeToTheirEndsWhateverCallGoesWrong) { try_faults<WorkloadTurns>(2); }

TEST(KueueFaults, WorkloadsComeToTheirEndsWhereverTheSchedulerIsKilled) {
  try_kills<WorkloadTurns>();
}

TEST(KueueFaults, WorkloadsComeToTheirEndsThroughOutages) {
  try_outages<WorkloadTurns>(seconds(1), seconds(13), seconds(120));
}

}  // namespace
}  // namespace fairlead
