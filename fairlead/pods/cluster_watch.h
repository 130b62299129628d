// The watches of a scheduler of pods: nodes, pods, owners, PodGroups, priority classes, disruption budgets, quotas, volumes with claims
// and classes, and the ConfigMap `fairlead`. A scheduler of Workloads watches Kueue's objects and the ConfigMap instead.
//
// Each change goes to the sink of its resource, in the order in which the API server sent it.
#pragma once

#include "fairlead/kube/door.h"
#include "fairlead/kube/reflector.h"
#include "fairlead/pods/pods_options.h"
#include "fairlead/pods/watched_kinds.h"

#include <deque>
#include <functional>
#include <string>
#include <vector>

namespace fairlead {

class ClusterWatch {
 public:
  // No sink may call this class. None receives kSynced.
  struct Sinks {
    WatchedKinds::Sink device, owner, pod_group, priority, kueue;
    Reflector::Sink node, pod, budget, quota, claim, volume, storage_class, driver, capacity,
        settings;
  };
  // REQUIRES: the door outlives this.
  ClusterWatch(KubeDoor& door, const PodsOptions& options, Sinks sinks);

  // Returns true if the event belonged to a watch.
  bool handle(const KubeEvent& event);
  // Starts the lists and watches that are due. Call this at wake_at() or later; an earlier call has no effect.
  void wake();
  Time wake_at() const;
  // Returns true once all objects were listed.
  bool is_synced() const;
  // Returns true if the API server reported the state of every resource within `limit`.
  bool is_fresh(Duration limit) const;
  // Returns why a resource is not listed yet: "connection refused"; empty if no try has failed.
  std::string trouble() const;
  std::vector<const Reflector*> reflectors() const;

 private:
  std::deque<WatchedKinds> kinds_;
  std::deque<Reflector> resources_;
};

}  // namespace fairlead
