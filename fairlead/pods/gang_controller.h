// The control loop over gangs and nodes: looks at each that may need something, and has carried out what follows.
//
//   work queue ─► Reconciler::settle ─► Settlement ─► GangCalls ─► API server
//                                              └─► Reports ─► engine
//
// The controller decides nothing itself: it passes settlements on, and keeps what the engine knows of gangs in step with
// the gangs that there are.
#pragma once

#include "fairlead/engine/backend.h"
#include "fairlead/engine/recovery.h"
#include "fairlead/engine/tables.h"
#include "fairlead/pods/observed_cluster.h"
#include "fairlead/pods/reconciler.h"
#include "fairlead/pods/reports.h"

#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace fairlead {

class GangController {
 public:
  // `may_write`: false: another scheduler leads, or what is known of the cluster is old. What is passed must outlive
  // this.
  GangController(KubeDoor& door, const std::string& name_space,
                 std::vector<std::string> rack_labels, std::function<bool()> may_write);

  ObservedCluster& observed() { return observed_; }
  const ObservedCluster& observed() const { return observed_; }
  const Refusals& refusals() const { return refusals_; }
  Reports& reports() { return reports_; }

  // Makes the engine's cluster for the gangs that are there, and returns its nodes.
  std::vector<NodeSpec> make_cluster();
  // The same as in PodsWorld. `now`: the engine's time.
  RecordedRun found(const Cluster& cluster, Time now);
  void attach(const Tables& tables);
  void adopt(const Tables& tables, const std::map<JobId, std::string>& owners);
  // Calls `sink` with the time from each gang's placement to the answer that a pod of it is bound.
  void tell_bound(std::function<void(Duration)> sink) { on_bound_ = std::move(sink); }

  // Looks at all gangs and nodes that may need something. `now`: the engine's time.
  void settle_all(Time now);
  void carry_out(std::span<const Step> steps);
  // Called with each record that is in the tables by now.
  void on(const Record& record);
  // Returns true if the event was an answer to a call about a gang.
  bool handle(const KubeEvent& event);
  // Returns when settle_all() is due again without an event; Time::never(): not before one. Door's time.
  Time due() const;
  // Returns true if the engine's cluster is outgrown, and no call is on its way that a later controller would not know.
  bool is_outgrown() const;
  // Sends a Kubernetes event about the gang of the job.
  void explain(JobId job, std::string_view reason, std::string_view message);

 private:
  void settle_nodes();
  void settle_tickets();
  void queue_due();
  void settle(const std::string& key, Time now);
  void apply(const std::string& key, const Settlement& settlement);
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
  WorkQueue queue_;
  ObservedCluster observed_;
  Reconciler reconciler_;
  GangCalls calls_;
  Reports reports_;
  const Tables* tables_ = nullptr;  // null: no engine is attached
  std::function<void(Duration)> on_bound_;
};

}  // namespace fairlead
