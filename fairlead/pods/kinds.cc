#include "fairlead/pods/kinds.h"

#include "fairlead/pods/owner.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace fairlead {
namespace {

std::string_view group_of(std::string_view api_version) {
  return api_version.substr(0, api_version.find('/'));
}

// Returns the sets of a Ray cluster described at `where`.
std::vector<PodSetsAt> ray_sets(const KeyPath& where) {
  const auto at = [&](std::string_view key) {
    KeyPath path = where;
    path.push_back(key);
    return path;
  };
  return {{.where = at("headGroupSpec"), .counts = {}, .limit = {}, .shape = {"template"}},
          {.where = at("workerGroupSpecs"),
           .is_many = true,
           .counts = {{"replicas"}, {"numOfHosts"}},
           .limit = {},
           .shape = {"template"}}};
}

// Returns the sets of a JobSet with its Jobs described at `where`.
std::vector<PodSetsAt> job_sets(const KeyPath& where) {
  return {{.where = where,
           .is_many = true,
           .counts = {{"replicas"}, {"template", "spec", "parallelism"}},
           .limit = {},
           .shape = {"template", "spec", "template"},
           .after = {"dependsOn"}}};
}

// Returns a kind of Kubeflow's operators, which list replicas by their role in the field `replicas` of the spec.
OwnerKind kubeflow_kind(std::string_view api_version, std::string_view kind,
                        std::string_view plural, std::string_view replicas) {
  return {.api_version = api_version,
          .kind = kind,
          .plural = plural,
          .suspend = {"spec", "runPolicy", "suspend"},
          .sets = {{.where = {"spec", replicas},
                    .is_many = true,
                    .counts = {{"replicas"}},
                    .limit = {},
                    .shape = {"template"}}},
          .priority = {"spec", "runPolicy", "schedulingPolicy", "priorityClass"}};
}

std::vector<OwnerKind> make_kinds() {
  return {
      {.api_version = "batch/v1",
       .kind = "Job",
       .plural = "jobs",
       .suspend = {"spec", "suspend"},
       .sets = {{.where = {"spec"},
                 .counts = {{"parallelism"}},
                 .limit = {"completions"},
                 .shape = {"template"}}},
       .completions = {"spec", "completions"}},
      {.api_version = "jobset.x-k8s.io/v1alpha2",
       .kind = "JobSet",
       .plural = "jobsets",
       .suspend = {"spec", "suspend"},
       .sets = job_sets({"spec", "replicatedJobs"}),
       .order = {"spec", "startupPolicy", "startupPolicyOrder"}},
      kubeflow_kind("kubeflow.org/v1", "PyTorchJob", "pytorchjobs", "pytorchReplicaSpecs"),
      kubeflow_kind("kubeflow.org/v1", "TFJob", "tfjobs", "tfReplicaSpecs"),
      kubeflow_kind("kubeflow.org/v1", "XGBoostJob", "xgboostjobs", "xgbReplicaSpecs"),
      kubeflow_kind("kubeflow.org/v1", "PaddleJob", "paddlejobs", "paddleReplicaSpecs"),
      kubeflow_kind("kubeflow.org/v1", "JAXJob", "jaxjobs", "jaxReplicaSpecs"),
      kubeflow_kind("kubeflow.org/v2beta1", "MPIJob", "mpijobs", "mpiReplicaSpecs"),
      {.api_version = "trainer.kubeflow.org/v1alpha1",
       .kind = "TrainJob",
       .plural = "trainjobs",
       .suspend = {"spec", "suspend"},
       .sets = job_sets({kBelow, "spec", "replicatedJobs"}),
       .order = {kBelow, "spec", "startupPolicy", "startupPolicyOrder"},
       .is_joined = true},
      {.api_version = "ray.io/v1",
       .kind = "RayJob",
       .plural = "rayjobs",
       .suspend = {"spec", "suspend"},
       .sets = ray_sets({"spec", "rayClusterSpec"}),
       .outcome = {"status", "jobDeploymentStatus"}},
      {.api_version = "ray.io/v1",
       .kind = "RayCluster",
       .plural = "rayclusters",
       .suspend = {"spec", "suspend"},
       .sets = ray_sets({"spec"})},
  };
}

OwnerKind pod_group_kind(std::string_view api_version, std::string_view mark, KeyPath members) {
  return {.api_version = api_version,
          .kind = "PodGroup",
          .plural = "podgroups",
          .suspend = {},
          .sets = {},
          .mark = mark,
          .members = std::move(members)};
}

std::vector<OwnerKind> make_pod_group_kinds() {
  const KeyPath min_member = {"spec", "minMember"};
  const KeyPath min_count = {"spec", "schedulingPolicy", "gang", "minCount"};
  return {
      pod_group_kind("scheduling.x-k8s.io/v1alpha1", kCoschedulingGroup, min_member),
      pod_group_kind("scheduling.volcano.sh/v1beta1", kVolcanoGroup, min_member),
      pod_group_kind("scheduling.run.ai/v2alpha2", kKaiGroup, min_member),
      pod_group_kind("scheduling.k8s.io/v1alpha2", kSchedulingGroup, min_count),
      pod_group_kind("scheduling.k8s.io/v1beta1", kSchedulingGroup, min_count),
  };
}

// Returns a kind of objects without pods.
OwnerKind plain_kind(std::string_view api_version, std::string_view kind, std::string_view plural) {
  return {.api_version = api_version, .kind = kind, .plural = plural, .suspend = {}, .sets = {}};
}

std::vector<OwnerKind> make_priority_kinds() {
  constexpr std::string_view kOfWorkloads = "WorkloadPriorityClass";
  constexpr std::string_view kPlural = "workloadpriorityclasses";
  return {
      plain_kind("scheduling.k8s.io/v1", kPriorityClass, "priorityclasses"),
      plain_kind("kueue.x-k8s.io/v1beta1", kOfWorkloads, kPlural),
      plain_kind("kueue.x-k8s.io/v1beta2", kOfWorkloads, kPlural),
  };
}

std::vector<OwnerKind> make_device_kinds() {
  constexpr std::string_view kVersion = "resource.k8s.io/v1";
  return {plain_kind(kVersion, kDeviceClass, "deviceclasses"),
          plain_kind(kVersion, kResourceSlice, "resourceslices"),
          plain_kind(kVersion, kResourceClaim, "resourceclaims"),
          plain_kind(kVersion, kClaimTemplate, "resourceclaimtemplates")};
}

// Returns the number at that path; 1 if it is missing.
std::int64_t number_along(const Json& value, const KeyPath& path) {
  const Json& at = json_along(value, path);
  return at.is_number_integer() ? at.get<std::int64_t>() : 1;
}

PodSet set_of(const PodSetsAt& at, const Json& value) {
  PodSet set{.shape = &json_along(value, at.shape), .pods = 1};
  for (const KeyPath& count : at.counts) {
    // Larger numbers are refused in any case.
    set.pods = std::min<std::int64_t>(
        set.pods * std::clamp<std::int64_t>(number_along(value, count), 0, 1'000'000), 1'000'000);
  }
  const bool is_limited = !at.limit.empty() && json_along(value, at.limit).is_number_integer();
  if (is_limited) set.pods = std::min(set.pods, number_along(value, at.limit));
  set.waits = !at.after.empty() && !json_along(value, at.after).empty();
  return set;
}

}  // namespace

const Json& json_along(const Json& value, const KeyPath& path) {
  const Json* at = &value;
  for (const std::string_view key : path) at = &json_at(*at, {key});
  return *at;
}

std::string OwnerKind::group_path() const { return fmt::format("/apis/{}", api_version); }
std::string OwnerKind::list_path() const { return fmt::format("/apis/{}/{}", api_version, plural); }
std::string OwnerKind::path_of(std::string_view name_space, std::string_view name) const {
  return fmt::format("/apis/{}/namespaces/{}/{}/{}", api_version, name_space, plural, name);
}

bool is_suspended(const OwnerKind& kind, const Json& object) {
  const Json& value = json_along(object, kind.suspend);
  return value.is_boolean() && value.get<bool>() != kind.is_of_kueue;
}

std::span<const OwnerKind> owner_kinds() {
  static const std::vector<OwnerKind> kKinds = make_kinds();
  return kKinds;
}

std::span<const OwnerKind> pod_group_kinds() {
  static const std::vector<OwnerKind> kKinds = make_pod_group_kinds();
  return kKinds;
}

std::span<const OwnerKind> priority_kinds() {
  static const std::vector<OwnerKind> kKinds = make_priority_kinds();
  return kKinds;
}

std::span<const OwnerKind> device_kinds() {
  static const std::vector<OwnerKind> kKinds = make_device_kinds();
  return kKinds;
}

const OwnerKind* find_owner_kind(std::string_view api_version, std::string_view kind) {
  const auto kinds = owner_kinds();
  const auto found = std::ranges::find_if(kinds, [&](const OwnerKind& known) {
    return known.kind == kind && group_of(known.api_version) == group_of(api_version);
  });
  return found == kinds.end() ? nullptr : &*found;
}

bool creates_again(std::string_view api_version, std::string_view kind) {
  if (find_owner_kind(api_version, kind) != nullptr) return true;
  const bool is_of_apps =
      group_of(api_version) == "apps" && (kind == "ReplicaSet" || kind == "StatefulSet");
  return is_of_apps || (api_version == "v1" && kind == "ReplicationController");
}

std::vector<PodSet> pod_sets(const OwnerKind& kind, const Json& object) {
  std::vector<PodSet> sets;
  for (const PodSetsAt& at : kind.sets) {
    const Json& where = json_along(object, at.where);
    if (!where.is_structured()) continue;
    if (!at.is_many) {
      sets.push_back(set_of(at, where));
      continue;
    }
    for (const Json& value : where) sets.push_back(set_of(at, value));
  }
  return sets;
}

bool is_staged(const OwnerKind& kind, const Json& object) {
  const std::vector<PodSet> sets = pod_sets(kind, object);
  if (std::ranges::any_of(sets, &PodSet::waits)) return true;
  const Json& order = json_along(object, kind.order);
  return sets.size() > 1 && !kind.order.empty() && order.is_string() && order == "InOrder";
}

const Json& controller_of(const Json& object) {
  static const Json kNone;
  for (const Json& owner : json_at(object, {"metadata", "ownerReferences"})) {
    if (is_true_at(owner, {"controller"})) return owner;
  }
  return kNone;
}

}  // namespace fairlead
