// The engine's world on a Kubernetes cluster: gangs are pods (docs/kubernetes.md).
//
// The API server's objects are the truth: each gang's desired state is compared with them until they agree. An answer
// to a call does not prove that something happened, and a missing answer does not prove that it did not.
//
//   API server ─► ObservedCluster ─► Reconciler ─► GangCalls ─► API server
//                                      ▲    └─► Reports ─► engine
//                      steps of the engine
//
// This class runs the loop: it waits at the door, hands each event to its part, and lets the GangController handle the
// changes. A user is a namespace. A node has the GPUs that it offers, except GPUs of pods that are not Fairlead's.
// The kubelet decides which GPUs a pod gets, so GPU masks here only count. Masks of nodes with slots are exact
// (slots.h): gangs are resident there and take turns in place.
#pragma once

#include "fairlead/engine/backend.h"
#include "fairlead/journal/journal.h"
#include "fairlead/kube/listener.h"
#include "fairlead/pods/gang_controller.h"

#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fairlead {

class Lease;  // kube/lease.h

class PodsWorld : public Backend, public RecordSink {
 public:
  // `lease`: if it is lost, writes stop and the world ends; null: this is the only scheduler. REQUIRES: the door and
  // the lease outlive this.
  PodsWorld(KubeDoor& door, const PodsOptions& options, Lease* lease = nullptr);
  ~PodsWorld() override;

  // -- Start of an engine: sync(), make_cluster(), then found() and attach(), or adopt().

  // Waits until nodes, owners and pods are known. Error: they are not known at `until`, and why.
  Status sync(Time until);
  // Returns whether a node has GPUs. O(nodes). REQUIRES: synced.
  bool has_gpus() const;
  // Waits for a node with GPUs. Returns sooner if the program is asked to leave, or another scheduler leads.
  // REQUIRES: synced.
  void await_gpus();
  // Returns the cluster of the nodes with GPUs. Their types are made for the current gangs (inventory.h). Errors: those of
  // build_cluster(). REQUIRES: synced.
  Result<Cluster> make_cluster() { return controller_.make_cluster(); }
  // Returns the journal of a run that just placed each gang on its current nodes. A new engine recovers from it
  // (engine/recovery.h). Half of a gang is not included: it is suspended, and waits.
  // `users`: also in that run, although they may have no gang. REQUIRES: synced; make_cluster()
  // returned `cluster` last.
  RecordedRun found(const Cluster& cluster, const std::set<std::string>& users = {}) {
    return controller_.found(cluster, users, now());
  }
  // REQUIRES: called once, before the first wait(), with the tables of an engine that has recovered from found().
  void attach(const Tables& tables) { controller_.attach(tables); }
  // Attaches an engine that has recovered from an earlier scheduler's saved state; `owners`: the key of a job's gang.
  // Gangs that run without a run in that state stay for a moment, so that the engine may decide as the earlier
  // scheduler did.
  void adopt(const Tables& tables, const std::map<JobId, std::string>& owners) {
    controller_.adopt(tables, owners);
  }

  GangSpeeds& speeds() { return controller_.speeds(); }
  // Returns the engine's time, which is the door's until it is set. REQUIRES: set before found() or adopt().
  Time now() const { return door_.now() + shift_; }
  void set_now(Time now) { shift_ = now - door_.now(); }
  // Adds a listener for door events that no part handles. REQUIRES: it outlives the last wait().
  void add(KubeListener& listener) { listeners_.push_back(&listener); }
  // Calls `sink` for each pod bound before its gang's start: the time from the gang's placement to the call's answer.
  void tell_bound(std::function<void(Duration)> sink) { controller_.tell_bound(std::move(sink)); }

  // -- The engine's side.

  Batch wait(Time until, bool awaited) override;
  std::span<const SpeedChange> expect(Time now, std::span<Step> steps) override;
  void carry_out(Time now, std::span<const Step> steps) override;
  bool reports_steps() const override { return true; }
  const TaskLimits* task_limits() const override { return &controller_.task_limits(); }
  // Called after the record was applied to the tables.
  void on(const Record& record) override { controller_.on(record); }

  // -- Reads, and an event.

  // Returns true if writes may be made: this scheduler leads, and its cached state is fresh.
  bool may_ask() const;
  const ObservedCluster& observed() const { return controller_.observed(); }
  // Returns why objects cannot be run as gangs, by "namespace/name".
  const std::map<std::string, std::string>& refused() const { return controller_.refusals().all(); }
  // Returns the same by the key of the gang. O(refusals log).
  std::map<std::string, std::string> refused_gangs() const {
    return controller_.refusals().by_gang();
  }
  // The same as in GangController.
  std::string shortage(JobId job) const { return controller_.shortage(job); }
  std::string missing(const std::string& name) const { return controller_.missing(name); }
  std::string order_text(JobId job) const { return controller_.order_text(job); }
  // Sends a Kubernetes event about the gang of the job, if it is there.
  void explain(JobId job, std::string_view reason, std::string_view message) {
    controller_.explain(job, reason, message);
  }
  // Returns true if the world has ended because its engine's cluster is outgrown (engine_cluster.h). A new world and a
  // new engine then continue with the same gangs.
  bool is_outgrown() const { return !leaves_ && controller_.is_outgrown(); }

 private:
  bool leads() const;
  void take(const KubeEvent& event);
  void wake();
  Time due() const;

  KubeDoor& door_;
  Lease* const lease_;
  Duration shift_;  // from the door's time to the engine's
  std::vector<KubeListener*> listeners_;
  bool leaves_ = false;
  GangController controller_;
};

}  // namespace fairlead
