// Only a gang with pods that can be bound has GPUs.
#include "fairlead/pods/testing_owners.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace fairlead {
namespace {

class ReservingTest : public OwnersTest {
 protected:
  void SetUp() override {
    for (const char* name : {"a", "b", "c", "d"}) server_.add_node({.name = name, .gpus = 8});
  }
  void set_quota(const std::string& gpus, const Json& scopes = Json::array()) {
    const std::string path = "/api/v1/namespaces/ann/resourcequotas";
    const Json quota = {
        {"metadata", {{"name", "team"}}},
        {"spec", {{"hard", {{"requests.nvidia.com/gpu", gpus}}}, {"scopes", scopes}}}};
    if (server_.act("POST", path, quota).status != 201) server_.act("PATCH", path + "/team", quota);
  }
  // Adds a Job of `ann` that takes all GPUs.
  void add_large(std::map<std::string, std::string> annotations = {}) {
    server_.add_job({.name_space = "ann",
                     .name = "large",
                     .pods = 4,
                     .gpus = 8,
                     .is_suspended = !annotations.empty(),
                     .annotations = std::move(annotations)});
  }
  // Returns the condition PodScheduled of one of the pods of `ann`.
  std::string waits_for() {
    const FakeAnswer list = server_.act("GET", "/api/v1/namespaces/ann/pods");
    for (const Json& pod : json_at(list.body, {"items"})) {
      return text_at(item_at(pod, {"status", "conditions"}, "type", "PodScheduled"), {"message"});
    }
    return {};
  }
};

TEST_F(ReservingTest, AJobBeyondItsQuotaHoldsNoGpusAndRunsOnceTheQuotaAllowsIt) {
  server_.act("POST", "/api/v1/namespaces", {{"metadata", {{"name", "ann"}}}});
  set_quota("8");
  add_large();
  Scheduler live(server_, "fairlead");
  live.run_for(seconds(20));
  EXPECT_EQ(waits_for(),
            "3 of its 4 pods do not exist: ResourceQuota team leaves 0 of requests.nvidia.com/gpu, "
            "and 24 are needed");
  rival(8, seconds(60));
  live.run_for(seconds(10));
  EXPECT_EQ(live.state("bob/b"), JobState::kRunning);
  EXPECT_EQ(running(), 0);
  set_quota("32");
  live.run_for(seconds(120));
  EXPECT_EQ(running(), 4);
}

TEST_F(ReservingTest, AQuotaCountsWhatPodsOfUnequalSizeAskFor) {
  add_operators(server_);
  server_.act("POST", "/api/v1/namespaces", {{"metadata", {{"name", "ann"}}}});
  set_quota("3");
  Made of = made("PyTorchJob", {}, {{std::string(kSuspendedBy), "fairlead"}});
  of.object["spec"]["runPolicy"]["suspend"] = true;
  Json& sets = of.object["spec"]["pytorchReplicaSpecs"];
  sets["Worker"]["replicas"] = 1;
  sets["Master"]["template"] = fake_template(1);
  server_.act("POST", of.path, of.object);
  Scheduler live(server_, "fairlead");
  live.run_for(seconds(60));
  EXPECT_EQ(running(), 2);
}

TEST_F(ReservingTest, AJobThatFairleadSuspendedIsNotResumedForPodsThatItsQuotaForbids) {
  server_.act("POST", "/api/v1/namespaces", {{"metadata", {{"name", "ann"}}}});
  set_quota("8");
  add_large({{std::string(kSuspendedBy), "fairlead"}});
  Scheduler live(server_, "fairlead");
  live.run_for(seconds(60));
  EXPECT_EQ(live.places(), 0);
  set_quota("32");
  live.run_for(seconds(20));
  EXPECT_EQ(running(), 4);
}

TEST_F(ReservingTest, AGangWhosePodsDoNotAppearGivesItsPlaceBackAndWaitsLongerEachTime) {
  server_.act("POST", "/api/v1/namespaces", {{"metadata", {{"name", "ann"}}}});
  set_quota(
      "0",
      {"CrossNamespacePodAffinity"});  // this server applies it to all pods; the scheduler cannot know that
  add_large({{std::string(kSuspendedBy), "fairlead"}});
  Scheduler live(server_, "fairlead");
  live.run_for(seconds(5));
  EXPECT_EQ(live.places(), 1);
  rival(8, {});
  live.run_for(seconds(15));
  EXPECT_EQ(live.state("bob/b"), JobState::kRunning);
  server_.act("DELETE", "/apis/batch/v1/namespaces/bob/jobs/b");
  live.run_for(seconds(900));
  EXPECT_LE(live.places(), 4);
  set_quota("32", {"CrossNamespacePodAffinity"});
  live.run_for(seconds(700));
  EXPECT_EQ(running(), 4);
}

TEST_F(ReservingTest, AGatedPodHoldsNoGpus) {
  server_.add_job({.name_space = "ann",
                   .name = "large",
                   .pods = 4,
                   .gpus = 8,
                   .pod_spec = {{"schedulingGates", Json::array({{{"name", "later"}}})}}});
  Scheduler live(server_, "fairlead");
  live.run_for(seconds(20));
  EXPECT_TRUE(live.world().missing("ann/large").ends_with("has a scheduling gate"));
  rival(8, seconds(60));
  live.run_for(seconds(10));
  EXPECT_EQ(live.state("bob/b"), JobState::kRunning);
  const FakeAnswer list = server_.act("GET", "/api/v1/namespaces/ann/pods");
  for (const Json& pod : json_at(list.body, {"items"})) {
    const std::string path = "/api/v1/namespaces/ann/pods/" + name_of(pod);
    ASSERT_EQ(server_.act("PATCH", path, {{"spec", {{"schedulingGates", nullptr}}}}).status, 200);
  }
  live.run_for(seconds(90));
  EXPECT_EQ(running(), 4);
}

TEST_F(ReservingTest, HalfAGangWithTheMarksOfAnotherSchedulerHoldsNoGpus) {
  for (const std::string_view mark : {kCoschedulingGroup, kVolcanoGroup, kKaiGroup}) {
    FakeServer server(1);
    SCOPED_TRACE(mark);
    server.add_node({.name = "n", .gpus = 16});
    const auto add = [&](const std::string& name, Json annotations, Json labels) {
      const bool is_label = mark == kCoschedulingGroup;
      (is_label ? labels : annotations)[std::string(mark)] = "pair";
      Json pod = fake_template(8, annotations);
      pod["metadata"]["name"] = name;
      pod["metadata"]["labels"] = labels;
      ASSERT_EQ(server.act("POST", "/api/v1/namespaces/ann/pods", pod).status, 201);
    };
    const Json sized = {{std::string(kGangSize), "2"}};
    add("p0", sized, Json::object());
    Scheduler live(server, "fairlead");
    live.run_for(seconds(30));
    EXPECT_EQ(live.places(), 0);
    add("p1", sized, Json::object());
    live.run_for(seconds(30));
    EXPECT_EQ(live.state("ann/pair"), JobState::kRunning);
  }
}

TEST_F(ReservingTest, AGangOfUnknownSizeIsRefusedInWords) {
  add_pod("p0", Json::object(), 2, {{std::string(kCoschedulingGroup), "pair"}});
  Scheduler live(server_, "fairlead");
  live.run_for(seconds(30));
  EXPECT_EQ(live.world().refused().at("ann/p0"),
            "the number of pods of its gang pair is not known: it needs its PodGroup, or "
            "fairlead.dev/gang-size");
}

TEST_F(ReservingTest, PodsThatMayNotComeBackAreNotStoppedUnlessTheyDeclareIt) {
  for (const bool declares : {false, true}) {
    FakeServer server(1);
    server.add_node({.name = "n", .gpus = 4});
    Json step =
        fake_template(4, declares ? Json{{std::string(kPreemptible), "true"}} : Json::object());
    step["metadata"]["name"] = "step";
    step["metadata"]["ownerReferences"] = Json::array({{{"apiVersion", "argoproj.io/v1alpha1"},
                                                        {"kind", "Workflow"},
                                                        {"name", "flow"},
                                                        {"uid", "1234"},
                                                        {"controller", true}}});
    server.act("POST", "/api/v1/namespaces/ann/pods", step);
    Scheduler live(server, "gang-stride:quantum_s=20");
    live.run_for(seconds(10));
    server.add_job({.name_space = "bob", .name = "b", .pods = 1, .gpus = 4});
    live.run_for(seconds(300));
    const FakeObject now = server.store().find({std::string(kPods), "ann", "step"});
    EXPECT_EQ(now == nullptr, declares);
  }
}

}  // namespace
}  // namespace fairlead
