// Gangs of every kind of owner: they start as a whole, take turns, and end.
#include "fairlead/pods/testing_owners.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace fairlead {
namespace {

TEST_F(OwnersTest, EveryKindStartsAsAGangAndTakesTurnsAndEnds) {
  for (const std::string kind : {"PyTorchJob", "JobSet", "TrainJob", "StatefulSet"}) {
    FakeServer server(1);
    SCOPED_TRACE(kind);
    add_operators(server);
    server.add_node({.name = "n", .gpus = 4});
    const Made of = made(kind, seconds(90));
    ASSERT_EQ(server.act("POST", of.path, of.object).status, 201);
    server.add_job({.name_space = "bob", .name = "b", .pods = 1, .gpus = 4, .run = seconds(90)});
    Scheduler live(server, "gang-stride:quantum_s=20");
    live.run_for(seconds(400));
    EXPECT_EQ(live.state("ann/train" + std::string(kind == "StatefulSet" ? "-s-0" : "")),
              JobState::kFinished);
    EXPECT_EQ(live.state("bob/b"), JobState::kFinished);
    EXPECT_GE(live.places(), 6);
    EXPECT_TRUE(live.failures().empty());
  }
}

TEST_F(OwnersTest, ARayJobIsStoppedAndResumedWithItsHead) {
  make("RayJob");
  rival();
  Scheduler live(server_, "gang-stride:quantum_s=20");
  live.run_for(seconds(200));
  const auto placed = live.places();
  EXPECT_GE(placed, 8);
  EXPECT_TRUE(live.failures().empty());
  for (int turns = 0; running() == 0 && turns < 3; ++turns) live.run_for(seconds(20));
  EXPECT_EQ(running(), 2);
  const FakeObject head = server_.store().find({std::string(kPods), "ann", "train-c-head-0"});
  ASSERT_TRUE(head);
  EXPECT_EQ(text_at(*head, {"spec", "nodeName"}), "n");
}

TEST_F(OwnersTest, AnOperatorThatIsInstalledLaterIsNoticedAndOneThatGoesTakesItsGangs) {
  FakeServer server(1);
  server.add_node({.name = "n", .gpus = 4});
  Scheduler live(server, "fifo:skip=true");
  live.run_for(seconds(30));
  add_operators(server);
  const Made of = made("PyTorchJob", {});
  ASSERT_EQ(server.act("POST", of.path, of.object).status, 201);
  live.run_for(seconds(90));
  EXPECT_EQ(live.state("ann/train"), JobState::kRunning);
  server.store().unserve("/apis/kubeflow.org/v1/pytorchjobs");
  live.run_for(seconds(120));
  EXPECT_EQ(live.state("ann/train"), JobState::kCancelled);
  server.add_job({.name_space = "bob", .name = "b", .pods = 1, .gpus = 4});
  live.run_for(seconds(10));
  EXPECT_EQ(live.state("bob/b"), JobState::kRunning);
}

TEST_F(OwnersTest, PodsOfUnequalSizeTakeTurnsAsTasksOfTheLargest) {
  Made of = made("PyTorchJob", seconds(90));
  Json& sets = of.object["spec"]["pytorchReplicaSpecs"];
  sets["Worker"]["replicas"] = 1;
  sets["Master"]["template"] = fake_template(1, runs_for(seconds(90)));
  server_.act("POST", of.path, of.object);
  rival();
  Scheduler live(server_, "gang-stride:quantum_s=20");
  live.run_for(seconds(60));
  const Jobs& jobs = live.tables().jobs;
  EXPECT_EQ(jobs.gpus_max[*live.job("ann/train")], 4U);
  EXPECT_EQ(jobs.task_gpus[*live.job("ann/train")], 2U);
  live.run_for(seconds(400));
  EXPECT_EQ(live.state("ann/train"), JobState::kFinished);
  EXPECT_GE(live.places(), 6);
  EXPECT_TRUE(live.failures().empty());
}

// Gangs take turns on eight GPUs with a gang of ann.
class TurnsWith : public RunToTheEnd {
 protected:
  explicit TurnsWith(const Made& of) {
    add_operators(server);
    for (const std::string name : {"a", "b"}) server.add_node({.name = name, .gpus = 4});
    server.act("POST", of.path, of.object);
    server.add_job({.name_space = "bob", .name = "y", .pods = 1, .gpus = 4, .run = seconds(60)});
    server.add_job({.name_space = "cy", .name = "z", .pods = 2, .gpus = 3, .run = seconds(60)});
  }
};

// A JobSet with a pod of 2 GPUs and two of 1, which share a task.
Made unequal_set() {
  Made of = made("JobSet", seconds(60));
  Json& small = of.object["spec"]["replicatedJobs"][1]["template"]["spec"];
  small["parallelism"] = small["completions"] = 2;
  small["template"] = fake_template(1, runs_for(seconds(60)));
  return of;
}

class UnequalTurns : public TurnsWith {
 public:
  UnequalTurns() : TurnsWith(unequal_set()) {}
};

TEST(UnequalPodsFaults, GangsComeToTheirEndsWhateverCallGoesWrong) { try_faults<UnequalTurns>(21); }

TEST(UnequalPodsFaults, GangsComeToTheirEndsWhereverTheSchedulerIsKilled) {
  try_kills<UnequalTurns>(1, 5);
}

// A JobSet with a set without GPUs, as initializers are, and two sets with GPUs. Each waits for the one before.
Made staged_set(Duration run) {
  Made of = made("JobSet", run);
  Json& sets = of.object["spec"]["replicatedJobs"];
  Json first = sets[0];
  first["name"] = "init";
  first["template"]["spec"]["template"] = fake_template(0, runs_for(seconds(30)));
  sets.insert(sets.begin(), first);
  for (const std::size_t set : {1U, 2U}) {
    sets[set]["dependsOn"] = Json::array({{{"name", sets[set - 1]["name"]}, {"status", "Ready"}}});
  }
  return of;
}

TEST_F(OwnersTest, PodsInStagesStartOneAfterTheOtherOnTheGpusOfAll) {
  const Made of = staged_set({});
  ASSERT_EQ(server_.act("POST", of.path, of.object).status, 201);
  Scheduler live(server_, "fifo:skip=true");
  live.run_for(seconds(5));
  rival(1);
  live.run_for(seconds(60));
  EXPECT_EQ(running(), 2);
  EXPECT_EQ(running("bob"), 0);
  EXPECT_EQ(live.state("ann/train"), JobState::kRunning);
  EXPECT_EQ(live.places(), 1);
  EXPECT_TRUE(live.failures().empty());
}

class StagedTurns : public TurnsWith {
 public:
  StagedTurns() : TurnsWith(staged_set(seconds(60))) {}
};

TEST(StagedPodsFaults, GangsComeToTheirEndsWhateverCallGoesWrong) { try_faults<StagedTurns>(21); }

TEST(StagedPodsFaults, GangsComeToTheirEndsWhereverTheSchedulerIsKilled) {
  try_kills<StagedTurns>(1, 5);
}

TEST_F(OwnersTest, SmallPodsOfAGangShareATaskOnOneNode) {
  const Json gang = {{std::string(kGangOf), "players"}, {std::string(kGangSize), "5"}};
  server_.add_node({.name = "m", .gpus = 4});
  for (const std::string name : {"a", "b", "c", "d"}) add_pod(name, gang, 1);
  add_pod("learner", gang, 4);
  Scheduler live(server_, "fifo:skip=true");
  live.run_for(seconds(20));
  EXPECT_EQ(running(), 5);
  const auto node = [&](const std::string& name) {
    return text_at(*server_.store().find({std::string(kPods), "ann", name}), {"spec", "nodeName"});
  };
  for (const std::string name : {"b", "c", "d"}) EXPECT_EQ(node(name), node("a"));
  EXPECT_NE(node("learner"), node("a"));
  // Another leader finds it in its place.
  Scheduler next(server_, "fifo:skip=true");
  next.run_for(seconds(20));
  EXPECT_EQ(next.state("ann/players"), JobState::kRunning);
  EXPECT_EQ(running(), 5);
}

TEST_F(OwnersTest, PodsThatNameOneGangStartOnceAllAreThere) {
  const Json gang = {{std::string(kGangOf), "pair"}, {std::string(kGangSize), "3"}};
  add_pod("a", gang);
  add_pod("head", gang, 0);
  Scheduler live(server_, "fifo:skip=true");
  live.run_for(seconds(20));
  EXPECT_EQ(running(), 0);
  add_pod("b", gang);
  live.run_for(seconds(20));
  EXPECT_EQ(running(), 2);
  EXPECT_EQ(live.state("ann/pair"), JobState::kRunning);
  const FakeObject head = server_.store().find({std::string(kPods), "ann", "head"});
  EXPECT_EQ(text_at(*head, {"status", "phase"}), "Running");
}

TEST_F(OwnersTest, AKueuePodGroupIsAGangOfItsTotalCount) {
  const Json labels = {{std::string(kKueueGroup), "g"}};
  add_pod("a", {{std::string(kKueueTotal), "2"}}, 2, labels);
  add_pod("b", {{std::string(kKueueTotal), "2"}}, 2, labels);
  add_pod("c", Json::object(), 1, {{std::string(kKueueGroup), "h"}});
  Scheduler live(server_, "fifo:skip=true");
  live.run_for(seconds(20));
  EXPECT_EQ(live.state("ann/g"), JobState::kRunning);
  EXPECT_EQ(live.world().refused().at("ann/c"),
            "the number of pods of its gang h is not known: it needs "
            "kueue.x-k8s.io/pod-group-total-count");
}

TEST_F(OwnersTest, AGroupOfALeaderWorkerSetIsAGang) {
  const auto add = [&](const std::string& name, const char* group) {
    add_pod(name, {{std::string(kLeaderWorkerSize), "2"}}, 1,
            {{std::string(kLeaderWorkerSet), "llm"}, {std::string(kLeaderWorkerGroup), group}});
  };
  add("llm-0", "0");
  add("llm-1", "1");
  Scheduler live(server_, "fifo:skip=true");
  live.run_for(seconds(20));
  EXPECT_EQ(running(), 0) << "the workers do not exist yet";
  add("llm-1-1", "1");
  live.run_for(seconds(20));
  EXPECT_EQ(running(), 2);
  EXPECT_EQ(live.state("ann/llm-1"), JobState::kRunning);
  add("llm-0-1", "0");
  live.run_for(seconds(20));
  EXPECT_EQ(live.state("ann/llm-0"), JobState::kRunning);
}

TEST_F(OwnersTest, APodGroupOfAnotherSchedulerStatesTheSizeOfItsGang) {
  struct Case {
    std::string group, mark;
    Json spec;
    bool is_label = false;
  };
  const Json gang = {{"schedulingPolicy", {{"gang", {{"minCount", 2}}}}}};
  for (const Case& each : std::vector<Case>{
           {"scheduling.x-k8s.io/v1alpha1",
            std::string(kCoschedulingGroup),
            {{"minMember", 2}},
            true},
           {"scheduling.volcano.sh/v1beta1", std::string(kVolcanoGroup), {{"minMember", 2}}},
           {"scheduling.run.ai/v2alpha2", std::string(kKaiGroup), {{"minMember", 2}}},
           {"scheduling.k8s.io/v1alpha2", std::string(kSchedulingGroup), gang}}) {
    SCOPED_TRACE(each.group);
    FakeServer server(1);
    server.add_node({.name = "n", .gpus = 4});
    server.add_operator({.resource = "/apis/" + each.group + "/podgroups",
                         .kind = "PodGroup",
                         .children = [](const Json&) { return std::vector<FakeChild>(); }});
    const auto add = [&](const char* name) {
      Json pod = fake_template(2);
      pod["metadata"]["name"] = name;
      if (each.mark == kSchedulingGroup) {
        pod["spec"][each.mark]["podGroupName"] = "g";
      } else {
        pod["metadata"][each.is_label ? "labels" : "annotations"][each.mark] = "g";
      }
      ASSERT_EQ(server.act("POST", "/api/v1/namespaces/ann/pods", pod).status, 201);
    };
    add("a");
    Scheduler live(server, "fifo:skip=true");
    live.run_for(seconds(20));
    EXPECT_EQ(live.world().refused().at("ann/a"),
              "the number of pods of its gang g is not known: it needs its PodGroup, or "
              "fairlead.dev/gang-size");
    const Json group = {{"metadata", {{"name", "g"}}}, {"spec", each.spec}};
    const std::string path = "/apis/" + each.group + "/namespaces/ann/podgroups";
    ASSERT_EQ(server.act("POST", path, group).status, 201);
    live.run_for(seconds(20));
    EXPECT_TRUE(live.world().refused().empty());
    EXPECT_EQ(live.places(), 0) << "its second pod does not exist yet";
    add("b");
    live.run_for(seconds(20));
    EXPECT_EQ(live.state("ann/g"), JobState::kRunning);
    server.act("DELETE", path + "/g");
    live.run_for(seconds(20));
    EXPECT_EQ(live.state("ann/g"), JobState::kRunning);
  }
}

TEST_F(OwnersTest, AKubeletThatRefusesAPodMakesAFailedStartThatIsTriedAgain) {
  make("StatefulSet");
  // The node loses GPUs before the pods are created.
  Scheduler live(server_, "fifo:skip=true");
  server_.at(Time{150}, [&] {
    server_.act("PATCH", "/api/v1/nodes/n/status",
                {{"status", {{"allocatable", {{"nvidia.com/gpu", "2"}}}}}});
  });
  live.run_for(seconds(20));
  server_.act("PATCH", "/api/v1/nodes/n/status",
              {{"status", {{"allocatable", {{"nvidia.com/gpu", "4"}}}}}});
  live.run_for(seconds(200));
  EXPECT_EQ(running(), 2);
}

TEST_F(OwnersTest, AJobOneOfWhosePodsFailedRunsAgainWithItsNextPod) {
  server_.add_job({.name_space = "ann", .name = "train", .pods = 2, .gpus = 2});
  Scheduler live(server_, "fifo:skip=true");
  live.run_for(seconds(10));
  const FakeAnswer list = server_.act("GET", "/api/v1/pods");
  const std::string pod = text_at(json_at(list.body, {"items"})[0], {"metadata", "name"});
  server_.act("PATCH", "/api/v1/namespaces/ann/pods/" + pod + "/status",
              {{"status", {{"phase", "Failed"}}}});
  live.run_for(seconds(200));
  EXPECT_EQ(live.state("ann/train"), JobState::kRunning);
  EXPECT_EQ(running(), 2);
}

TEST_F(OwnersTest, AGangWhoseShapeChangesWhileItWaitsIsAnotherJob) {
  rival();
  Scheduler live(server_, "fifo:skip=true");
  live.run_for(seconds(10));
  server_.add_job({.name_space = "ann",
                   .name = "train",
                   .pods = 4,
                   .gpus = 2,
                   .is_suspended = true,
                   .annotations = {{std::string(kSuspendedBy), "fairlead"}}});
  live.run_for(seconds(10));
  EXPECT_EQ(live.state("ann/train"), JobState::kRejected);
  server_.act("PATCH", "/apis/batch/v1/namespaces/ann/jobs/train",
              {{"spec", {{"parallelism", 2}, {"completions", 2}}}});
  server_.act("DELETE", "/apis/batch/v1/namespaces/bob/jobs/b");
  live.run_for(seconds(60));
  EXPECT_EQ(running(), 2);
}

}  // namespace
}  // namespace fairlead
