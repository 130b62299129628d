#include "fairlead/pods/cluster_watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace fairlead {
namespace {

Reflector::Sink changes_to(Reflector::Sink sink) {
  return [sink = std::move(sink)](const ReflectedChange& change) {
    if (change.kind != ReflectedChange::Kind::kSynced) sink(change);
  };
}

WatchedKinds::Sink changes_to(WatchedKinds::Sink sink) {
  return [sink = std::move(sink)](const OwnerKind& kind, const ReflectedChange& change) {
    if (change.kind != ReflectedChange::Kind::kSynced) sink(kind, change);
  };
}

}  // namespace

ClusterWatch::ClusterWatch(KubeDoor& door, const std::string& name_space, Sinks sinks)
    : owners_(door, owner_kinds(), changes_to(std::move(sinks.owner))),
      pod_groups_(door, pod_group_kinds(), changes_to(std::move(sinks.pod_group))),
      resources_{
          Reflector(door, "/api/v1/nodes", "", changes_to(std::move(sinks.node))),
          Reflector(door, "/api/v1/pods", "", changes_to(std::move(sinks.pod))),
          Reflector(door, "/apis/policy/v1/poddisruptionbudgets", "",
                    changes_to(std::move(sinks.budget))),
          Reflector(door, "/api/v1/resourcequotas", "", changes_to(std::move(sinks.quota))),
          Reflector(door, "/api/v1/persistentvolumeclaims", "", changes_to(std::move(sinks.claim))),
          Reflector(door, "/api/v1/persistentvolumes", "", changes_to(std::move(sinks.volume))),
          Reflector(door, "/apis/storage.k8s.io/v1/storageclasses", "",
                    changes_to(std::move(sinks.storage_class))),
          Reflector(door, fmt::format("/api/v1/namespaces/{}/configmaps", name_space),
                    "fieldSelector=metadata.name%3Dfairlead",
                    changes_to(std::move(sinks.settings)))} {}

bool ClusterWatch::handle(const KubeEvent& event) {
  return owners_.handle(event) || pod_groups_.handle(event) ||
         std::ranges::any_of(resources_,
                             [&](Reflector& resource) { return resource.handle(event); });
}

void ClusterWatch::wake() {
  owners_.wake();
  pod_groups_.wake();
  for (Reflector& resource : resources_) resource.wake();
}

Time ClusterWatch::wake_at() const {
  Time first = std::min(owners_.wake_at(), pod_groups_.wake_at());
  for (const Reflector& resource : resources_) first = std::min(first, resource.wake_at());
  return first;
}

bool ClusterWatch::is_synced() const {
  return owners_.is_synced() && pod_groups_.is_synced() &&
         std::ranges::all_of(resources_, &Reflector::is_synced);
}

bool ClusterWatch::is_fresh(Duration limit) const {
  return owners_.is_fresh(limit) && pod_groups_.is_fresh(limit) &&
         std::ranges::all_of(resources_,
                             [&](const Reflector& resource) { return resource.is_fresh(limit); });
}

std::string ClusterWatch::trouble() const {
  const auto late = std::ranges::find_if_not(resources_, &Reflector::is_synced);
  if (late != resources_.end()) return late->trouble();
  const std::string trouble = owners_.trouble();
  return trouble.empty() ? pod_groups_.trouble() : trouble;
}

std::vector<const Reflector*> ClusterWatch::reflectors() const {
  std::vector<const Reflector*> all = owners_.reflectors();
  for (const Reflector* groups : pod_groups_.reflectors()) all.push_back(groups);
  for (const Reflector& resource : resources_) all.push_back(&resource);
  return all;
}

}  // namespace fairlead
