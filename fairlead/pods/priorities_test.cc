// Priority classes in a fake cluster: which gangs are held for which, under a policy that stops no gang by itself.
#include "fairlead/kube/fake_objects.h"
#include "fairlead/kube/fake_path.h"
#include "fairlead/pods/testing_scheduler.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace fairlead {
namespace {

constexpr const char* kPolicy = "fifo:skip=true";

class PrioritiesTest : public testing::Test {
 protected:
  void SetUp() override {
    server_.add_node({.name = "n", .gpus = 4});
    add_class("high", 1000);
    add_class("low", -5);
  }

  void add_class(const std::string& name, std::int64_t value, Json more = Json::object()) {
    more["metadata"] = {{"name", name}};
    more["value"] = value;
    ASSERT_EQ(server_.act("POST", "/apis/scheduling.k8s.io/v1/priorityclasses", more).status, 201);
  }

  // Adds a Job of one pod of that class; empty: of none.
  void add_job(const std::string& user, const std::string& name, std::int64_t gpus,
               const std::string& priority_class, FakeJob job = {}) {
    job.name_space = user;
    job.name = name;
    job.gpus = gpus;
    if (!priority_class.empty()) job.pod_spec["priorityClassName"] = priority_class;
    server_.add_job(job);
  }

  FakeServer server_{1};
};

TEST_F(PrioritiesTest, AJobLeavesItsGpusForOneOfAHigherClassAndComesBack) {
  add_job("ann", "sweep", 4, "low");
  Scheduler live(server_, kPolicy);
  live.run_for(seconds(30));
  EXPECT_EQ(live.state("ann/sweep"), JobState::kRunning);
  add_job("ann", "deadline", 2, "high", {.run = seconds(300)});
  live.run_for(seconds(60));
  EXPECT_EQ(live.state("ann/deadline"), JobState::kRunning);
  EXPECT_EQ(live.state("ann/sweep"), JobState::kHeld);
  EXPECT_EQ(live.world().order_text(*live.job("ann/sweep")),
            "after ann/deadline, which has a higher priority");
  live.run_for(seconds(400));
  EXPECT_EQ(live.state("ann/deadline"), JobState::kFinished);
  EXPECT_EQ(live.state("ann/sweep"), JobState::kRunning);
  EXPECT_TRUE(live.failures().empty());
}

TEST_F(PrioritiesTest, IdleGpusGoToLowerClasses) {
  add_job("ann", "deadline", 2, "high");
  add_job("ann", "one", 1, "low");
  add_job("ann", "two", 1, "");
  add_job("ann", "three", 1, "low");
  Scheduler live(server_, kPolicy);
  live.run_for(seconds(60));
  EXPECT_EQ(live.state("ann/deadline"), JobState::kRunning);
  EXPECT_EQ(live.state("ann/two"), JobState::kRunning);
  const std::set<JobState> low = {live.state("ann/one"), live.state("ann/three")};
  EXPECT_EQ(low, (std::set<JobState>{JobState::kRunning, JobState::kHeld}));
}

TEST_F(PrioritiesTest, TheJobsOfOtherUsersKeepTheirGpus) {
  add_job("ann", "sweep", 4, "low");
  Scheduler live(server_, kPolicy);
  live.run_for(seconds(30));
  add_job("bob", "deadline", 4, "high");
  live.run_for(seconds(60));
  EXPECT_EQ(live.state("ann/sweep"), JobState::kRunning);
  EXPECT_EQ(live.state("bob/deadline"), JobState::kWaiting);
}

TEST_F(PrioritiesTest, InTheScopeOfTheClusterTheyLeaveThem) {
  add_job("ann", "sweep", 4, "low");
  Scheduler live(server_, kPolicy, "", {.priority_scope = PriorityScope::kCluster});
  live.run_for(seconds(30));
  add_job("bob", "deadline", 4, "high");
  live.run_for(seconds(60));
  EXPECT_EQ(live.state("ann/sweep"), JobState::kHeld);
  EXPECT_EQ(live.state("bob/deadline"), JobState::kRunning);
}

TEST_F(PrioritiesTest, AClassThatNeverPreemptsOnlyComesFirst) {
  add_class("patient", 500, {{"preemptionPolicy", "Never"}});
  add_job("ann", "sweep", 4, "low", {.run = seconds(200)});
  Scheduler live(server_, kPolicy);
  live.run_for(seconds(30));
  add_job("ann", "more", 1, "low");
  add_job("ann", "next", 4, "patient", {.run = seconds(200)});
  live.run_for(seconds(60));
  EXPECT_EQ(live.state("ann/sweep"), JobState::kRunning);
  EXPECT_EQ(live.state("ann/next"), JobState::kWaiting);
  EXPECT_EQ(live.state("ann/more"), JobState::kHeld);
  live.run_for(seconds(180));
  EXPECT_EQ(live.state("ann/next"), JobState::kRunning);
}

TEST_F(PrioritiesTest, AGangThatMustNotBeStoppedKeepsItsGpus) {
  add_job("ann", "precious", 4, "low", {.annotations = {{"fairlead.dev/preemptible", "false"}}});
  Scheduler live(server_, kPolicy);
  live.run_for(seconds(30));
  add_job("ann", "deadline", 4, "high");
  live.run_for(seconds(60));
  EXPECT_EQ(live.state("ann/precious"), JobState::kRunning);
  EXPECT_EQ(live.state("ann/deadline"), JobState::kWaiting);
}

TEST_F(PrioritiesTest, AGangThatNoNodeCouldRunHoldsNothingBack) {
  // The node has the CPUs of one such pod.
  add_job("ann", "greedy", 1, "high", {.pods = 2, .requests = {{"cpu", "60"}}});
  add_job("ann", "sweep", 4, "low");
  Scheduler live(server_, kPolicy);
  live.run_for(seconds(60));
  EXPECT_EQ(live.state("ann/greedy"), JobState::kWaiting);
  EXPECT_EQ(live.state("ann/sweep"), JobState::kRunning);
}

TEST_F(PrioritiesTest, TheDefaultClassCountsForPodsWithoutOne) {
  add_class("usual", 100, {{"globalDefault", true}});
  add_class("modest", 50);
  add_job("ann", "usual", 4, "");
  add_job("ann", "modest", 4, "modest");
  Scheduler live(server_, kPolicy);
  live.run_for(seconds(60));
  EXPECT_EQ(live.state("ann/usual"), JobState::kRunning);
  EXPECT_EQ(live.state("ann/modest"), JobState::kHeld);
}

TEST_F(PrioritiesTest, KueuesClassOfAWorkloadCountsInsteadOfThatOfItsPods) {
  server_.add_operator({.resource = "/apis/kueue.x-k8s.io/v1beta1/workloadpriorityclasses",
                        .kind = "WorkloadPriorityClass",
                        .children = [](const Json&) { return std::vector<FakeChild>(); }});
  ASSERT_EQ(server_
                .act("POST", "/apis/kueue.x-k8s.io/v1beta1/workloadpriorityclasses",
                     {{"metadata", {{"name", "first"}}}, {"value", 5000}})
                .status,
            201);
  add_job("ann", "pods", 4, "high");
  add_job("ann", "workload", 4, "low", {.labels = {{std::string(kKueuePriority), "first"}}});
  Scheduler live(server_, kPolicy);
  live.run_for(seconds(60));
  EXPECT_EQ(live.state("ann/workload"), JobState::kRunning);
  EXPECT_EQ(live.state("ann/pods"), JobState::kHeld);
}

TEST_F(PrioritiesTest, ALaterSchedulerKeepsTheOrder) {
  add_job("ann", "sweep", 4, "low");
  add_job("ann", "deadline", 4, "high");
  {
    Scheduler first(server_, kPolicy);
    first.run_for(seconds(60));
  }
  Scheduler live(server_, kPolicy);
  live.run_for(seconds(60));
  EXPECT_EQ(live.state("ann/deadline"), JobState::kRunning);
  EXPECT_EQ(live.state("ann/sweep"), JobState::kHeld);
}

}  // namespace
}  // namespace fairlead
