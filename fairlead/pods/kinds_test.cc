#include "fairlead/pods/budgets.h"
#include "fairlead/pods/lineage.h"
#include "fairlead/pods/owner.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace fairlead {
namespace {

Json shape(int gpus) {
  Json limits = Json::object();
  if (gpus > 0) limits["nvidia.com/gpu"] = std::to_string(gpus);
  return {{"spec",
           {{"schedulerName", "fairlead"},
            {"containers", Json::array({{{"resources", {{"limits", limits}}}}})}}}};
}

TEST(Kinds, AJobHasNoMorePodsThanCompletions) {
  const OwnerKind& job = *find_owner_kind("batch/v1", "Job");
  const Json object = {{"spec", {{"parallelism", 4}, {"completions", 3}, {"template", shape(2)}}}};
  EXPECT_EQ(parse_owner(job, object)->pods, 3U);
}

TEST(Kinds, AJobSetHasThePodsOfAllJobsThatAskForGpus) {
  const OwnerKind& kind = *find_owner_kind("jobset.x-k8s.io/v1alpha1", "JobSet");
  const auto job = [](int replicas, int pods, int gpus) {
    return Json{{"replicas", replicas},
                {"template", {{"spec", {{"parallelism", pods}, {"template", shape(gpus)}}}}}};
  };
  Json object = {{"spec", {{"replicatedJobs", Json::array({job(1, 1, 0), job(2, 3, 4)})}}}};
  const Result<Owner> owner = parse_owner(kind, object);
  ASSERT_TRUE(owner.has_value()) << owner.error().message;
  EXPECT_EQ(owner->pods, 6U);
  EXPECT_EQ(owner->task_gpus, 4U);
  EXPECT_FALSE(owner->is_staged);
}

TEST(Kinds, AnOwnerWhoseSetsWaitForEachOtherIsStaged) {
  const OwnerKind& kind = *find_owner_kind("jobset.x-k8s.io/v1alpha2", "JobSet");
  const Json set = {{"template", {{"spec", {{"template", shape(2)}}}}}};
  const Json two = {{"spec", {{"replicatedJobs", Json::array({set, set})}}}};
  EXPECT_FALSE(parse_owner(kind, two)->is_staged);
  Json ordered = two;
  ordered["spec"]["startupPolicy"] = {{"startupPolicyOrder", "InOrder"}};
  EXPECT_TRUE(parse_owner(kind, ordered)->is_staged);
  Json dependent = two;
  dependent["spec"]["replicatedJobs"][1]["dependsOn"] =
      Json::array({{{"name", "a"}, {"status", "Complete"}}});
  EXPECT_TRUE(parse_owner(kind, dependent)->is_staged);
  // A TrainJob's JobSet below it has its sets.
  const OwnerKind& above = *find_owner_kind("trainer.kubeflow.org/v1alpha1", "TrainJob");
  EXPECT_TRUE(parse_owner(above, {{"spec", Json::object()}, {"below", dependent}})->is_staged);
}

TEST(Kinds, TheJobsOfKubeflowHaveThePodsOfAllRoles) {
  for (const auto& [kind, version, replicas] :
       std::vector<std::tuple<const char*, const char*, const char*>>{
           {"PyTorchJob", "kubeflow.org/v1", "pytorchReplicaSpecs"},
           {"TFJob", "kubeflow.org/v1", "tfReplicaSpecs"},
           {"XGBoostJob", "kubeflow.org/v1", "xgbReplicaSpecs"},
           {"PaddleJob", "kubeflow.org/v1", "paddleReplicaSpecs"},
           {"JAXJob", "kubeflow.org/v1", "jaxReplicaSpecs"},
           {"MPIJob", "kubeflow.org/v2beta1", "mpiReplicaSpecs"}}) {
    SCOPED_TRACE(kind);
    const OwnerKind* const of = find_owner_kind(version, kind);
    ASSERT_NE(of, nullptr);
    const Json object = {{"spec",
                          {{"runPolicy", {{"suspend", true}}},
                           {replicas,
                            {{"Launcher", {{"replicas", 1}, {"template", shape(0)}}},
                             {"Chief", {{"template", shape(2)}}},
                             {"Worker", {{"replicas", 3}, {"template", shape(2)}}}}}}}};
    const Result<Owner> owner = parse_owner(*of, object);
    ASSERT_TRUE(owner.has_value()) << owner.error().message;
    EXPECT_EQ(owner->pods, 4U);
    EXPECT_EQ(owner->task_gpus, 2U);
    EXPECT_TRUE(owner->is_suspended);
  }
}

TEST(Kinds, HostsOfARayWorkerArePodsOfTheirOwn) {
  const OwnerKind& kind = *find_owner_kind("ray.io/v1", "RayJob");
  const Json object = {
      {"spec",
       {{"rayClusterSpec",
         {{"headGroupSpec", {{"template", shape(0)}}},
          {"workerGroupSpecs",
           Json::array({{{"replicas", 2}, {"numOfHosts", 4}, {"template", shape(8)}}})}}}}},
      {"status", {{"jobDeploymentStatus", "Failed"}, {"message", "out of memory"}}}};
  const Result<Owner> owner = parse_owner(kind, object);
  ASSERT_TRUE(owner.has_value()) << owner.error().message;
  EXPECT_EQ(owner->pods, 8U);
  EXPECT_EQ(owner->state, Owner::State::kFailed);
  EXPECT_EQ(owner->reason, "out of memory");
}

TEST(Kinds, AnOwnerBelowAnotherOrWhosePodsNameTheirGangMakesNone) {
  const OwnerKind& job = *find_owner_kind("batch/v1", "Job");
  Json object = {{"spec", {{"template", shape(2)}}}};
  EXPECT_TRUE(is_fairleads(job, object));
  Json named = object;
  named["spec"]["template"]["metadata"]["annotations"][std::string(kGangOf)] = "pair";
  EXPECT_FALSE(is_fairleads(job, named));
  object["metadata"]["ownerReferences"] = Json::array(
      {{{"apiVersion", "jobset.x-k8s.io/v1alpha2"}, {"kind", "JobSet"}, {"controller", true}}});
  object["metadata"]["ownerReferences"][0]["uid"] = "u";
  EXPECT_FALSE(is_fairleads(job, object));
  EXPECT_EQ(known_parent(object), "u");
}

TEST(Kinds, APodGoesByItsGroupThenItsTopMostOwnerThenItsController) {
  Lineage lineage;
  EXPECT_TRUE(lineage.add("job", "set"));
  EXPECT_FALSE(lineage.add("job", "set"));
  Pod pod{.uid = "p", .name_space = "lab", .name = "a", .version = {}, .owner = "job", .node = {}};
  pod.is_of_known_kind = true;
  EXPECT_EQ(lineage.gang_key(pod), "set");
  pod.group = "fairlead.dev/gang:pair";
  EXPECT_EQ(lineage.gang_key(pod), "lab/fairlead.dev/gang:pair");
  pod.group.clear();
  pod.is_of_known_kind = false;
  EXPECT_EQ(lineage.gang_key(pod), "job/a");
  pod.gang_size = 2;
  EXPECT_EQ(lineage.gang_key(pod), "job");
  pod.owner.clear();
  EXPECT_EQ(lineage.gang_key(pod), "p");
}

class BudgetsTest : public testing::Test {
 protected:
  void put(const std::string& name, const Json& selector, int allowed) {
    const Json budget = {{"spec", {{"selector", selector}}},
                         {"status", {{"disruptionsAllowed", allowed}}}};
    budgets_.on({.kind = ReflectedChange::Kind::kAdded,
                 .name = {"lab", name},
                 .object = std::make_shared<const Json>(budget)});
  }
  std::string objection() const {
    std::map<std::string, Pod> pods;
    for (const char* uid : {"a", "b"}) {
      Pod pod{.uid = uid, .name_space = "lab", .name = uid, .version = {}, .owner = {}, .node = {}};
      pod.state = Pod::State::kRunning;
      pod.labels = {{"app", "train"}};
      pods[uid] = pod;
    }
    return budgets_.objection(pods);
  }
  Budgets budgets_;
};

TEST_F(BudgetsTest, OneThatAllowsFewerThanTheGangIsAgainstIt) {
  EXPECT_EQ(objection(), "");
  put("keep", {{"matchLabels", {{"app", "train"}}}}, 1);
  EXPECT_EQ(objection(), "PodDisruptionBudget keep allows 1 of its 2 pods to stop");
  put("keep", {{"matchLabels", {{"app", "train"}}}}, 2);
  EXPECT_EQ(objection(), "");
  put("more", Json::object(), 9);
  EXPECT_EQ(objection(), "more than one PodDisruptionBudget selects one of its pods");
}

TEST_F(BudgetsTest, ExpressionsSelectAsTheServerDoes) {
  const auto with = [&](const char* key, const char* how, Json values) {
    put("keep",
        {{"matchExpressions",
          Json::array({{{"key", key}, {"operator", how}, {"values", std::move(values)}}})}},
        0);
    return !objection().empty();
  };
  EXPECT_TRUE(with("app", "In", {"train", "x"}));
  EXPECT_FALSE(with("app", "NotIn", {"train"}));
  EXPECT_TRUE(with("none", "NotIn", {"train"}));
  EXPECT_TRUE(with("app", "Exists", Json::array()));
  EXPECT_FALSE(with("app", "DoesNotExist", Json::array()));
  put("keep", Json(), 0);
  EXPECT_EQ(objection(), "");
}

}  // namespace
}  // namespace fairlead
