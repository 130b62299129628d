// The controllers of a fake cluster: the kubelets, and the garbage collection of pods whose owner or node was deleted.
// The Job controller, the operators, Kueue and the volumes are parts of their own. All act on a FakeStore, at virtual times.
//
// A kubelet admits a pod bound to its node if the pod fits; otherwise the pod fails with reason
// OutOfnvidia.com/gpu (or cpu, memory). An admitted pod starts to run after a while. It runs for its
// annotation `fake.fairlead.dev/run-ms`, minus the runs of earlier pods of the same owner, because it
// resumes from a checkpoint; without the annotation it does not end. It succeeds, or exits with
// `fake.fairlead.dev/exit-code`. A deleted pod ends within its grace period, becomes Failed, and is
// removed. On a node that is not ready nothing happens until it is ready again; after 300 s its pods are
// marked DisruptionTarget and deleted. The pods of a deleted node are removed after 40 s.
// A pod does not start before its node reaches its bound volumes (fake_volumes.h).
#pragma once

#include "fairlead/kube/fake_agenda.h"
#include "fairlead/kube/fake_devices.h"
#include "fairlead/kube/fake_job_controller.h"
#include "fairlead/kube/fake_kueue.h"
#include "fairlead/kube/fake_operator.h"
#include "fairlead/kube/fake_planner.h"
#include "fairlead/kube/fake_quotas.h"
#include "fairlead/kube/fake_store.h"
#include "fairlead/kube/fake_volumes.h"

#include <map>
#include <set>
#include <string>
#include <vector>

namespace fairlead {

constexpr std::string_view kFakeRun = "fake.fairlead.dev/run-ms";
constexpr std::string_view kFakeExitCode = "fake.fairlead.dev/exit-code";

class FakeCluster {
 public:
  FakeCluster(FakeStore& store, FakeAgenda& agenda, const FakeDelays& delays, std::uint64_t seed);
  FakeCluster(const FakeCluster&) = delete;
  FakeCluster& operator=(const FakeCluster&) = delete;

  FakeOperators& operators() { return operators_; }
  FakeKueue& kueue() { return kueue_; }
  // Called after a write to the store.
  void changed(const FakeChange& change);
  // Keeps controllers and kubelets from reaching the server until `t`.
  void stand_still_until(Time t) { planner_.stand_still_until(t); }
  // Freezes or thaws the processes of a pod, by its uid. A frozen pod makes no progress and does not end.
  void freeze(const std::string& uid, bool is_frozen);
  bool is_frozen(const std::string& uid) const { return frozen_since_.contains(uid); }
  // Returns how much of their run the pods of an owner have completed.
  Duration progress(const std::string& owner_uid) const;
  const FakeVolumes& volumes() const { return volumes_; }

 private:
  void collect(const std::string& owner_uid);
  void admit(const FakeKey& key, const std::string& uid);
  void start(const FakeKey& key, const std::string& uid);
  void finish(const FakeKey& key, const std::string& uid);
  void stop(const FakeKey& key, const std::string& uid);
  std::string shortage(const Json& pod, const Json& node) const;
  void node_changed(const FakeChange& change);
  void evict(const std::string& node, Time unready_since);
  std::vector<FakeObject> pods_on(const std::string& node) const;
  bool is_node_ready(const std::string& name) const;
  // Returns the pod if it still has that uid and has not ended; otherwise null.
  FakeObject at_work(const FakeKey& key, const std::string& uid) const;
  void set_status(const FakeKey& key, const FakeObject& pod, const Json& status);
  void settle(const Json& pod);
  // Returns the time that a running pod has run so far.
  Duration run_of(const std::string& uid) const;

  FakeStore& store_;
  FakePlanner planner_;
  FakeQuotas quotas_;
  FakeJobController jobs_;
  FakeOperators operators_;
  FakeKueue kueue_;
  FakeVolumes volumes_;
  FakeDevices devices_;
  std::map<std::string, Time> unready_since_;   // nodes
  std::set<std::string> admitted_;              // uids of pods
  std::map<std::string, Time> running_since_;   // by uid of the pod
  std::map<std::string, Duration> run_before_;  // by uid of the pod: its owner's progress then
  std::map<std::string, Duration> progress_;    // by uid of the owner
  std::map<std::string, Time> frozen_since_;    // by uid of the pod
  std::map<std::string, Duration> frozen_for_;  // by uid of the pod: before that
};

}  // namespace fairlead
