// Kueue in a fake world, as far as a scheduler of its Workloads sees it: Workloads of one pod set in queues with one
// quota of GPUs, without pods.
//
// An active Workload gets quota by priority, then by age, if the nominal quota of its ClusterQueue has room. If not, and
// the queue's `preemption.withinClusterQueue` is LowerPriority, Workloads of a lower priority are evicted for it. An
// inactive Workload is evicted. An evicted one has its quota until its pods have ended. A Workload is finished once it
// was admitted for its annotation `fake.fairlead.dev/run-ms` in all; without the annotation it does not end. One with the
// annotation `fake.fairlead.dev/lacks` does not get quota, as for want of another resource.
// `tests/kube/bed` runs the same scenarios on the real Kueue.
#pragma once

#include "fairlead/kube/fake_planner.h"
#include "fairlead/kube/fake_store.h"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace fairlead {

constexpr std::string_view kFakeLacks = "fake.fairlead.dev/lacks";  // the resource
constexpr std::string_view kWorkloads = "/apis/kueue.x-k8s.io/v1beta1/workloads";
constexpr std::string_view kClusterQueues = "/apis/kueue.x-k8s.io/v1beta1/clusterqueues";
constexpr std::string_view kLocalQueues = "/apis/kueue.x-k8s.io/v1beta1/localqueues";
constexpr std::string_view kFlavors = "/apis/kueue.x-k8s.io/v1beta1/resourceflavors";

class FakeKueue {
 public:
  // REQUIRES: the arguments outlive this.
  FakeKueue(FakeStore& store, FakePlanner& planner) : store_(store), planner_(planner) {}

  // Serves Kueue's resources, and acts as Kueue.
  void serve();
  // Plans the work after a change.
  void changed(const FakeChange& change);
  // Returns the time for which a Workload was admitted so far, by its uid.
  Duration admitted(const std::string& uid) const;

 private:
  struct Run {
    Duration before{};           // admitted before
    Time since = Time::never();  // never: it is not admitted
    std::uint64_t number = 0;    // of its admissions
    bool is_ending = false;      // its release is planned
  };

  void operate();
  void operate(const std::string& queue);
  bool look_at(const FakeKey& key, const Json& workload);
  void admit(const FakeKey& key, const std::string& queue);
  void evict(const FakeKey& key, std::string_view reason, const std::string& message);
  void release(const FakeKey& key);
  void finish(const FakeKey& key, const std::string& uid, std::uint64_t number);
  bool make_room(const Json& workload, std::int64_t lacks, const std::vector<FakeObject>& running);
  std::string queue_of(const Json& workload) const;
  void put(const FakeKey& key, const Json& workload);

  FakeStore& store_;
  FakePlanner& planner_;
  bool is_planned_ = false;
  std::map<std::string, Run> runs_;  // by uid
};

}  // namespace fairlead
