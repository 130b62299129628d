// The control loop over gangs and nodes: settles each gang and node that may need a change.
//
//   work queue ─► Reconciler::settle ─► Settlement ─► GangCalls ─► API server
//                                              └─► Reports ─► engine
//
// The controller decides nothing itself: it passes settlements on, and keeps the engine's jobs consistent with the
// gangs of the cluster.
#pragma once

#include "fairlead/engine/backend.h"
#include "fairlead/engine/recovery.h"
#include "fairlead/engine/tables.h"
#include "fairlead/pods/gang_order.h"
#include "fairlead/pods/gang_speeds.h"
#include "fairlead/pods/observed_cluster.h"
#include "fairlead/pods/pods_options.h"
#include "fairlead/pods/reconciler.h"
#include "fairlead/pods/reports.h"

#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace fairlead {

class GangController {
 public:
  // `may_write`: returns false if another scheduler leads, or if the cluster state is stale. REQUIRES: the door
  // outlives this.
  GangController(KubeDoor& door, const PodsOptions& options, std::function<bool()> may_write);

  ObservedCluster& observed() { return observed_; }
  const ObservedCluster& observed() const { return observed_; }
  const Refusals& refusals() const { return refusals_; }
  const TaskLimits& task_limits() const { return resources_.limits(); }
  Reports& reports() { return reports_; }
  GangSpeeds& speeds() { return speeds_; }

  // The same as in PodsWorld.
  Result<Cluster> make_cluster();
  // The same. `now`: the engine's time.
  RecordedRun found(const Cluster& cluster, const std::set<std::string>& users, Time now);
  void attach(const Tables& tables);
  void adopt(const Tables& tables, const std::map<JobId, std::string>& owners);
  // Calls `sink` for each pod bound before its gang's start: the time from the gang's placement to the call's answer.
  void tell_bound(std::function<void(Duration)> sink) { on_bound_ = std::move(sink); }

  // Settles all gangs and nodes that may need a change. `now`: the engine's time.
  void settle_all(Time now);
  void carry_out(std::span<const Step> steps);
  // Called after the record was applied to the tables.
  void on(const Record& record);
  // Returns true if the event was an answer to a call about a gang.
  bool handle(const KubeEvent& event);
  // Returns when settle_all() is due again without an event, in the door's time; Time::never(): after the next event.
  Time due() const;
  // Returns true if the engine's cluster is outgrown, and no call is in flight that a later controller would not know.
  bool is_outgrown() const;
  // Returns the resources other than GPUs, and the volumes, that nodes with free GPUs lack for one more pod of the waiting
  // job: "of 6 nodes with free GPUs for a pod of it, 4 have too little cpu"; empty: none lacks any. O(nodes x pods of a node).
  std::string shortage(JobId job) const;
  // Returns why the gang of that owner must have no place, because its pods cannot be bound; empty: it may have one, or
  // there is none of that name ("namespace/name"). O(gangs).
  std::string missing(const std::string& name) const;
  // Returns "after lab/train, which has a higher priority", if the order of gangs keeps the job's gang from GPUs; else
  // nothing.
  std::string order_text(JobId job) const;
  // Sends a Kubernetes event about the gang of the job.
  void explain(JobId job, std::string_view reason, std::string_view message);

 private:
  void settle_node(const std::string& name);
  bool offer(const std::string& name, NodeId node);
  void offer_new_resources();
  void limit(const std::string& key);
  void limit_places(const std::string& key);
  void settle_tickets();
  void settle_order();
  void settle_gangs(Time now);
  void queue_due();
  void settle(const std::string& key, Time now);
  void apply(const std::string& key, const Settlement& settlement);
  void explain_missing(const PodGang& gang, const std::string& why);
  void report_speed(const std::string& key);
  void announce(const std::string& key, Time now);
  bool has_node(const std::string& key);
  JobSpec spec_of(const std::string& key, UserId user, const Cluster& cluster, Time now);
  void adopt(JobId job, const std::string& key);
  void lose(JobId job, std::string_view why);
  bool is_quiet() const { return calls_.empty() && !observed_.view().has_assumed(); }

  KubeDoor& door_;
  std::function<bool()> may_write_;
  EventRecorder recorder_;
  EngineCluster engine_cluster_;
  Refusals refusals_;
  RestingNodes resting_;
  OtherResources resources_;
  WorkQueue queue_;
  ObservedCluster observed_;
  GangOrder order_;
  Reconciler reconciler_;
  GangCalls calls_;
  Reports reports_;
  GangSpeeds speeds_;
  const Tables* tables_ = nullptr;  // null: no engine is attached
  std::function<void(Duration)> on_bound_;
};

}  // namespace fairlead
