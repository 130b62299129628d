// Owners of pods of every kind on a fake cluster, for tests.
#pragma once

#include "fairlead/pods/testing_scheduler.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <string>
#include <vector>

namespace fairlead {

inline constexpr std::string_view kStatefulSets = "/apis/apps/v1/statefulsets";

inline Json runs_for(Duration run) { return {{std::string(kFakeRun), fmt::to_string(run.ms)}}; }

inline FakeChild pod_of(const std::string& name, const Json& shape) {
  return {std::string(kPods), name, shape};
}

// A pod for each replica of each set.
inline std::vector<FakeChild> pods_of_sets(const std::string& name, const Json& sets) {
  std::vector<FakeChild> children;
  for (const auto& [set, value] : sets.items()) {
    for (std::int64_t i = 0; i < integer_at(value, {"replicas"}, 1); ++i) {
      children.push_back(pod_of(fmt::format("{}-{}-{}", name, set, i), value["template"]));
    }
  }
  return children;
}

inline const std::string& name_of(const Json& object) {
  return text_at(object, {"metadata", "name"});
}

inline void add_operators(FakeServer& server) {
  server.add_operator({.resource = "/apis/kubeflow.org/v1/pytorchjobs",
                       .kind = "PyTorchJob",
                       .suspend = {"spec", "runPolicy", "suspend"},
                       .children = [](const Json& object) {
                         return pods_of_sets(name_of(object),
                                             object["spec"]["pytorchReplicaSpecs"]);
                       }});
  server.add_operator({.resource = "/apis/jobset.x-k8s.io/v1alpha2/jobsets",
                       .kind = "JobSet",
                       .children =
                           [](const Json& object) {
                             std::vector<FakeChild> jobs;
                             for (const Json& set : object["spec"]["replicatedJobs"]) {
                               const bool waits = !jobs.empty() && set.contains("dependsOn");
                               jobs.push_back({std::string(kJobs),
                                               fmt::format("{}-{}", name_of(object),
                                                           set["name"].get<std::string>()),
                                               {{"spec", set["template"]["spec"]}},
                                               waits ? jobs.back().name : ""});
                             }
                             return jobs;
                           },
                       .success = {{"conditions", {{{"type", "Completed"}, {"status", "True"}}}}}});
  // A TrainJob has a JobSet with the pods of its runtime.
  server.add_operator({.resource = "/apis/trainer.kubeflow.org/v1alpha1/trainjobs",
                       .kind = "TrainJob",
                       .children =
                           [](const Json& object) {
                             return std::vector<FakeChild>{
                                 {"/apis/jobset.x-k8s.io/v1alpha2/jobsets",
                                  name_of(object),
                                  {{"spec", object["spec"]["runtime"]}}}};
                           },
                       .success = {{"conditions", {{{"type", "Complete"}, {"status", "True"}}}}}});
  server.add_operator({.resource = "/apis/ray.io/v1/rayclusters",
                       .kind = "RayCluster",
                       .children = [](const Json& object) {
                         return pods_of_sets(name_of(object),
                                             {{"head", object["spec"]["headGroupSpec"]},
                                              {"work", object["spec"]["workerGroupSpecs"][0]}});
                       }});
  server.add_operator({.resource = "/apis/ray.io/v1/rayjobs",
                       .kind = "RayJob",
                       .children =
                           [](const Json& object) {
                             return std::vector<FakeChild>{
                                 {"/apis/ray.io/v1/rayclusters",
                                  name_of(object) + "-c",
                                  {{"spec", object["spec"]["rayClusterSpec"]}}}};
                           },
                       .success = {{"jobDeploymentStatus", "Complete"}}});
  // Its kind is unknown: it cannot be suspended.
  server.add_operator({.resource = std::string(kStatefulSets),
                       .kind = "StatefulSet",
                       .children = [](const Json& object) {
                         return pods_of_sets(name_of(object), {{"s", object["spec"]}});
                       }});
}

// An object of each kind, with two pods of two GPUs, by user "ann".
struct Made {
  std::string path;
  Json object;
};

inline Made made(const std::string& kind, Duration run, Json annotations = Json::object()) {
  const Json gpus = fake_template(2, runs_for(run));
  const Json none = fake_template(0, runs_for(run));
  const Json meta = {{"name", "train"}, {"annotations", annotations}};
  if (kind == "PyTorchJob") {
    return {"/apis/kubeflow.org/v1/namespaces/ann/pytorchjobs",
            {{"metadata", meta},
             {"spec",
              {{"pytorchReplicaSpecs",
                {{"Master", {{"replicas", 1}, {"template", none}}},
                 {"Worker", {{"replicas", 2}, {"template", gpus}}}}}}}}};
  }
  if (kind == "JobSet" || kind == "TrainJob") {
    const auto job = [](std::int64_t pods, const Json& shape) {
      return Json{{"spec", {{"parallelism", pods}, {"completions", pods}, {"template", shape}}}};
    };
    const Json sets = Json::array(
        {{{"name", "a"}, {"template", job(1, gpus)}}, {{"name", "b"}, {"template", job(1, gpus)}}});
    if (kind == "TrainJob") {
      return {"/apis/trainer.kubeflow.org/v1alpha1/namespaces/ann/trainjobs",
              {{"metadata", meta}, {"spec", {{"runtime", {{"replicatedJobs", sets}}}}}}};
    }
    return {"/apis/jobset.x-k8s.io/v1alpha2/namespaces/ann/jobsets",
            {{"metadata", meta}, {"spec", {{"replicatedJobs", sets}}}}};
  }
  if (kind == "RayJob") {
    return {"/apis/ray.io/v1/namespaces/ann/rayjobs",
            {{"metadata", meta},
             {"spec",
              {{"rayClusterSpec",
                {{"headGroupSpec", {{"template", none}}},
                 {"workerGroupSpecs", Json::array({{{"replicas", 2}, {"template", gpus}}})}}}}}}};
  }
  Json named = gpus;
  annotations.update(gpus["metadata"]["annotations"]);
  annotations[std::string(kGangSize)] = "2";
  named["metadata"]["annotations"] = annotations;
  return {"/apis/apps/v1/namespaces/ann/statefulsets",
          {{"metadata", {{"name", "train"}}}, {"spec", {{"replicas", 2}, {"template", named}}}}};
}

class OwnersTest : public testing::Test {
 protected:
  void SetUp() override {
    add_operators(server_);
    server_.add_node({.name = "n", .gpus = 4});
  }
  void make(const std::string& kind, Duration run = {}, Json annotations = Json::object()) {
    const Made of = made(kind, run, std::move(annotations));
    ASSERT_EQ(server_.act("POST", of.path, of.object).status, 201);
    path_ = of.path + "/train";
  }
  // Returns the number of running pods with GPUs.
  int running(const std::string& name_space = "ann") {
    const FakeAnswer list = server_.act("GET", "/api/v1/pods");
    const Json& pods = json_at(list.body, {"items"});
    return static_cast<int>(std::ranges::count_if(pods, [&](const Json& pod) {
      return text_at(pod, {"metadata", "namespace"}) == name_space &&
             text_at(pod, {"status", "phase"}) == "Running" &&
             gpus_of_spec(json_at(pod, {"spec"})) > 0;
    }));
  }
  void rival(int gpus = 4, Duration run = {}) {
    server_.add_job({.name_space = "bob", .name = "b", .pods = 1, .gpus = gpus, .run = run});
  }
  void annotate(std::string_view name, Json value) {
    server_.act("PATCH", path_, {{"metadata", {{"annotations", {{name, std::move(value)}}}}}});
  }
  void add_pod(const std::string& name, const Json& annotations, std::int64_t gpus = 2,
               const Json& labels = Json::object()) {
    Json pod = fake_template(gpus, annotations);
    pod["metadata"]["name"] = name;
    pod["metadata"]["labels"] = labels;
    ASSERT_EQ(server_.act("POST", "/api/v1/namespaces/ann/pods", pod).status, 201);
  }
  int evictions() {
    return static_cast<int>(std::ranges::count_if(
        server_.calls(), [](const FakeCall& call) { return call.path.ends_with("/eviction"); }));
  }

  FakeServer server_{1};
  std::string path_;
};

}  // namespace fairlead
