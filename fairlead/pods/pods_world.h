// The engine's world where gangs are pods of a Kubernetes cluster (docs/kubernetes.md).
//
// The objects of the API server are the truth: what the engine wants of a gang is compared with them until they agree.
// Nothing is taken to have happened because a call was answered, or not to have happened because it was not.
//
//   API server ─► ObservedCluster ─► Reconciler ─► GangCalls ─► API server
//                                      ▲    └─► Reports ─► engine
//                      steps of the engine
//
// This class turns the loop: it waits at the door, hands each event to its part, and has the GangController look at
// what has changed. A user is a namespace. A node's GPUs are as many as it offers, less those of pods that are not
// Fairlead's; the kubelet decides which of them a pod gets, so GPU masks here only count. Masks of nodes with slots
// are exact (slots.h): gangs are resident there and take turns in place.
#pragma once

#include "fairlead/engine/backend.h"
#include "fairlead/journal/journal.h"
#include "fairlead/kube/listener.h"
#include "fairlead/pods/gang_controller.h"

#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fairlead {

class Lease;  // kube/lease.h

struct PodsOptions {
  // Namespace of the ConfigMap `fairlead`, whose `tickets` has a line "NAMESPACE: N" for each that has not one.
  std::string name_space = "fairlead";
  std::vector<std::string> rack_labels = usual_rack_labels();
};

class PodsWorld : public Backend, public RecordSink {
 public:
  // `lease`: without it nothing is asked for, and the world ends; null: this is the only scheduler. What is passed
  // must outlive it.
  PodsWorld(KubeDoor& door, PodsOptions options, Lease* lease = nullptr);
  ~PodsWorld() override;

  // -- How an engine begins: sync(), nodes(), then found() and attach(), or adopt().

  // Waits until nodes, owners and pods are known. Error: not up to `until`, and why.
  Status sync(Time until);
  // Returns the nodes with GPUs that are there, of types that are made for the gangs that are there (inventory.h).
  // REQUIRES: synced.
  std::vector<NodeSpec> nodes() { return controller_.make_cluster(); }
  // Waits until nodes() has some. Returns sooner if the program is asked to leave, or another scheduler leads.
  // REQUIRES: synced.
  void await_nodes();
  // Returns the journal of a run in which the gangs that have their nodes now were just placed there: an engine
  // recovers from it (engine/recovery.h) that was not there before. Half of a gang is not found: it is suspended, and
  // waits. REQUIRES: synced; `cluster` is of nodes().
  RecordedRun found(const Cluster& cluster) { return controller_.found(cluster, now()); }
  // REQUIRES: called once, before the first wait(), with the tables of an engine that has recovered from found().
  void attach(const Tables& tables) { controller_.attach(tables); }
  // The same for an engine that has recovered from the saved state of an earlier scheduler, in which the jobs are of
  // gangs with those keys. Gangs that run and that the engine does not know to run stay for a moment, in which it may
  // decide as the earlier scheduler did.
  void adopt(const Tables& tables, const std::map<JobId, std::string>& owners) {
    controller_.adopt(tables, owners);
  }

  // Returns the engine's time, which is the door's until it is set. REQUIRES: set before found() or adopt().
  Time now() const { return door_.now() + shift_; }
  void set_now(Time now) { shift_ = now - door_.now(); }
  // Adds a listener to the door's events that are for no part. REQUIRES: it outlives the last wait().
  void add(KubeListener& listener) { listeners_.push_back(&listener); }
  // Calls `sink` with the time from each gang's placement to the answer that a pod of it is bound.
  void tell_bound(std::function<void(Duration)> sink) { controller_.tell_bound(std::move(sink)); }

  // -- The engine's side.

  Batch wait(Time until, bool awaited) override;
  std::span<const SpeedChange> expect(Time now, std::span<Step> steps) override;
  void carry_out(Time now, std::span<const Step> steps) override;
  bool reports_steps() const override { return true; }
  // Called with each record that is in the tables by now.
  void on(const Record& record) override { controller_.on(record); }

  // -- Reads, and an event.

  // Returns true if writes may be made: this scheduler leads, and knows what there is.
  bool may_ask() const;
  const ObservedCluster& observed() const { return controller_.observed(); }
  // Returns why objects cannot be run as gangs, by "namespace/name".
  const std::map<std::string, std::string>& refused() const { return controller_.refusals().all(); }
  // Sends a Kubernetes event about the gang of the job, if it is there.
  void explain(JobId job, std::string_view reason, std::string_view message) {
    controller_.explain(job, reason, message);
  }
  // Returns true if the world has ended because its engine's cluster is outgrown (engine_cluster.h): a new world and a
  // new engine go on with what is there.
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
