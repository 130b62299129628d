#include "fairlead/pods/cluster_watch.h"

#include "fairlead/pods/workload.h"

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

ClusterWatch::ClusterWatch(KubeDoor& door, const PodsOptions& options, Sinks sinks) {
  const auto watch_kinds = [&](std::span<const OwnerKind> kinds, WatchedKinds::Sink& sink) {
    kinds_.emplace_back(door, kinds, changes_to(std::move(sink)));
  };
  const auto watch = [&](std::string path, Reflector::Sink& sink, std::string selector = "") {
    resources_.emplace_back(door, std::move(path), std::move(selector),
                            changes_to(std::move(sink)));
  };
  if (options.source == GangSource::kKueue) {
    watch_kinds(kueue_kinds(), sinks.kueue);
  } else {
    watch_kinds(device_kinds(), sinks.device);
    watch_kinds(owner_kinds(), sinks.owner);
    watch_kinds(pod_group_kinds(), sinks.pod_group);
    watch_kinds(priority_kinds(), sinks.priority);
    watch("/api/v1/nodes", sinks.node);
    watch("/api/v1/pods", sinks.pod);
    watch("/apis/policy/v1/poddisruptionbudgets", sinks.budget);
    watch("/api/v1/resourcequotas", sinks.quota);
    watch("/api/v1/persistentvolumeclaims", sinks.claim);
    watch("/api/v1/persistentvolumes", sinks.volume);
    watch("/apis/storage.k8s.io/v1/storageclasses", sinks.storage_class);
    watch("/apis/storage.k8s.io/v1/csidrivers", sinks.driver);
    watch("/apis/storage.k8s.io/v1/csistoragecapacities", sinks.capacity);
  }
  watch(fmt::format("/api/v1/namespaces/{}/configmaps", options.name_space), sinks.settings,
        "fieldSelector=metadata.name%3Dfairlead");
}

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
