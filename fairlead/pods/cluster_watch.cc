#include "fairlead/pods/cluster_watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
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
    : kinds_{WatchedKinds(door, owner_kinds(), changes_to(std::move(sinks.owner))),
             WatchedKinds(door, pod_group_kinds(), changes_to(std::move(sinks.pod_group))),
             WatchedKinds(door, priority_kinds(), changes_to(std::move(sinks.priority)))},
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
  const auto takes = [&](auto& one) { return one.handle(event); };
  return std::ranges::any_of(kinds_, takes) || std::ranges::any_of(resources_, takes);
}

void ClusterWatch::wake() {
  for (WatchedKinds& kinds : kinds_) kinds.wake();
  for (Reflector& resource : resources_) resource.wake();
}

Time ClusterWatch::wake_at() const {
  Time first = Time::never();
  for (const WatchedKinds& kinds : kinds_) first = std::min(first, kinds.wake_at());
  for (const Reflector& resource : resources_) first = std::min(first, resource.wake_at());
  return first;
}

bool ClusterWatch::is_synced() const {
  return std::ranges::all_of(kinds_, &WatchedKinds::is_synced) &&
         std::ranges::all_of(resources_, &Reflector::is_synced);
}

bool ClusterWatch::is_fresh(Duration limit) const {
  const auto is = [&](const auto& one) { return one.is_fresh(limit); };
  return std::ranges::all_of(kinds_, is) && std::ranges::all_of(resources_, is);
}

std::string ClusterWatch::trouble() const {
  const auto late = std::ranges::find_if_not(resources_, &Reflector::is_synced);
  if (late != resources_.end()) return late->trouble();
  for (const WatchedKinds& kinds : kinds_) {
    if (std::string trouble = kinds.trouble(); !trouble.empty()) return trouble;
  }
  return {};
}

std::vector<const Reflector*> ClusterWatch::reflectors() const {
  std::vector<const Reflector*> all;
  for (const WatchedKinds& kinds : kinds_)
    std::ranges::copy(kinds.reflectors(), std::back_inserter(all));
  for (const Reflector& resource : resources_) all.push_back(&resource);
  return all;
}

}  // namespace fairlead
