// The engine's world where gangs are pods of a Kubernetes cluster (docs/kubernetes.md).
//
// The objects of the API server are the truth: reflectors say what there is, and what the engine wants
// of a gang is compared with it until they agree. Nothing is taken to have happened because a call was
// answered, or not to have happened because it was not.
//
// A user is a namespace. A node's GPUs are as many as it offers, less those of pods that are not
// Fairlead's; which of them a pod gets is the kubelet's business, so GPU masks here only count. Those of
// nodes with slots are exact (pods/slots.h): gangs are resident there and take turns in place.
#pragma once

#include "fairlead/engine/backend.h"
#include "fairlead/engine/inbox.h"
#include "fairlead/engine/recovery.h"
#include "fairlead/engine/tables.h"
#include "fairlead/journal/journal.h"
#include "fairlead/kube/door.h"
#include "fairlead/kube/listener.h"
#include "fairlead/kube/reflector.h"
#include "fairlead/model/cluster_build.h"
#include "fairlead/pods/budgets.h"
#include "fairlead/pods/gang.h"
#include "fairlead/pods/inventory.h"
#include "fairlead/pods/lineage.h"
#include "fairlead/pods/residents.h"
#include "fairlead/pods/watched_kinds.h"

#include <array>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace fairlead {

class Lease;  // kube/lease.h

// Calls about gangs that are on their way at once, but for the last gang's. More would only wait in
// line at the server, and the renewal of the Lease behind them.
constexpr std::size_t kCallsMax = 100;

struct PodsOptions {
  // From a step to the gang's last pod that runs; then the start has failed.
  Duration start_limit = seconds(300);
  // From a pod of a running gang that no longer runs; if its Job has not ended by then, the gang has
  // lost its nodes.
  Duration broken_limit = seconds(5);
  // From the wish that a gang rest in place to the word of its agents; then it is suspended.
  Duration rest_limit = seconds(30);
  // From the last of its pods, of a gang that they alone make and that was evicted, to the first that
  // its controller makes again; then it is over.
  Duration absent_limit = seconds(900);
  // Of the ConfigMap `fairlead`, whose `tickets` has a line "NAMESPACE: N" for each that has not one.
  std::string name_space = "fairlead";
  // Nothing is asked for on knowledge that is older.
  Duration stale = seconds(30);
  // From the first thing that makes the cluster another one to the engine until the world ends for
  // it, as more of the kind often follows.
  Duration outgrown_limit = seconds(10);
  std::vector<std::string> rack_labels = usual_rack_labels();
};

class PodsWorld : public Backend, public RecordSink {
 public:
  // `lease`: nothing is asked for, and the world ends, without it; null: this is the only scheduler.
  // What is passed must outlive it.
  PodsWorld(KubeDoor& door, PodsOptions options, Lease* lease = nullptr);
  ~PodsWorld() override;

  // Waits until nodes, owners and pods are known. Error: not up to `until`, and why.
  Status sync(Time until);
  // The nodes with GPUs that are there, of types that are made for the gangs that are there
  // (inventory.h). REQUIRES: synced.
  std::vector<NodeSpec> nodes();
  // Waits until nodes() has some; returns sooner where the program is asked to leave, or another
  // scheduler leads. REQUIRES: synced.
  void await_nodes();
  // The journal of a run in which the gangs that hold their nodes now were just placed there: what an
  // engine recovers from (engine/recovery.h) that was not there before. Half of a gang is not found:
  // it is suspended, and waits. REQUIRES: synced; `cluster` is of nodes().
  RecordedRun found(const Cluster& cluster);
  // REQUIRES: called once, before the first wait(), with the tables of an engine that has recovered
  // from found().
  void attach(const Tables& tables);
  // The same for an engine that has recovered from what an earlier scheduler left, where the jobs are
  // of gangs with those keys. Gangs that run and that it does not know to run stay for a moment, in
  // which the engine may decide as the earlier one did.
  void adopt(const Tables& tables, const std::map<JobId, std::string>& owners);

  // The engine's time, which is the door's until it is set. REQUIRES: set before found() or adopt().
  Time now() const { return door_.now() + shift_; }
  void set_now(Time now) { shift_ = now - door_.now(); }
  // Is handed the door's events that are no one else's. REQUIRES: it outlives the last wait().
  void add(KubeListener& listener) { listeners_.push_back(&listener); }
  // Is told how long after the placement of its gang each pod was bound.
  void tell_bound(std::function<void(Duration)> sink) { on_bound_ = std::move(sink); }
  std::vector<const Reflector*> reflectors() const;
  // Writes may be made: it leads, and knows what there is.
  bool may_ask() const;
  // The gang of a job that is here; null: its owner has gone.
  const PodGang* view(JobId job) const;
  // An event on its owner, or on a pod of it where it has none.
  void explain(JobId job, std::string_view reason, std::string_view message);
  // What the gangs of jobs go by (Owner::key).
  const std::map<JobId, std::string>& owners() const { return keys_; }

  Batch wait(Time until, bool awaited) override;
  std::span<const SpeedChange> expect(Time now, std::span<Step> steps) override;
  void carry_out(Time now, std::span<const Step> steps) override;
  bool reports_steps() const override { return true; }
  // What is in the tables by now.
  void on(const Record& record) override;

  // The world has ended as its cluster became another one to the engine, or its gangs need other
  // types of nodes; a new world and a new engine go on with what is there. No call is on its way then,
  // nor a binding that may yet come true, of which the new world would not know.
  bool is_outgrown() const { return outgrown_ <= door_.now() && !leaves_ && is_quiet(); }

  // What cannot be run as a gang, and why, by "namespace/name".
  const std::map<std::string, std::string>& refused() const { return refused_; }

 private:
  // A gang, and what the engine wants of it.
  struct Gang {
    explicit Gang(Owner owner) : view(std::move(owner)) {}
    PodGang view;
    JobId job;
    bool is_here = true;          // its owner is, or its pods are, or will be again
    std::uint32_t pods = 0;       // as the engine was told
    std::uint32_t pod_gpus = 1;   // likewise
    Time absent = Time::never();  // since when it has no pods, which are to be made again
    bool is_beyond = false;       // it holds GPUs that the engine does not know of
    bool runs = false;            // it is to run, on `where`, under `hold`
    HoldId hold = 0;              // the last that the engine gave it
    std::vector<GangPlace> where;
    std::vector<HoldId> leaving;    // that are over, and whose end is to be told
    Time begun;                     // the hold
    bool is_clear = false;          // no pod of an earlier hold takes GPUs
    bool is_started = false;        // that was told
    Time broken = Time::never();    // since when a pod that ran does not
    bool goes = false;              // it gives up its place on nodes with slots
    Time rest_due = Time::never();  // by when its agents should have frozen it
    std::set<CallId> calls;         // on their way
    Time retry = Time::never();     // no call before
    int failures = 0;               // of calls, in a row
    bool is_queued = false;         // in queued_
  };
  struct Call {
    std::string gang;  // its key
    GangAct act;
    std::string version;  // of the pod that it is about
  };
  // A binding that was asked for: it may come true as long as the pod is there without a node.
  struct Asked {
    std::string node;
    bool is_open =
        false;  // of one such call no answer came, so that a refusal of another says nothing
  };

  // Whether a gang's pods have what they ask for on its nodes, beside GPUs; if not, `why`: "node n1
  // has too little cpu".
  struct Room {
    bool is_there = true;
    bool may_come = false;  // once what is about to go is gone
    std::string node{};
    std::string why{};
  };

  struct FoundGang {
    std::vector<Slice> slices;
    std::vector<std::uint64_t> masks;
  };
  void number(const Cluster& cluster);
  void adopt(JobId job, const std::string& key);
  struct Found {  // by found()
    RecordedRun& run;
    const Cluster& cluster;
    std::map<std::string, UserId> users{};
    IdVector<NodeId, std::uint64_t> free{};
  };
  void find(Gang& gang, Found& found);
  std::optional<FoundGang> held_by(const Gang& gang, IdVector<NodeId, std::uint64_t>& free) const;
  void take(const KubeEvent& event);
  void take_answer(const Call& call, const KubeEvent& event);
  void take_pod_answer(const Call& call, const std::optional<Json>& object);
  void set_pod(Pod pod, bool is_gone);
  void on_node(const ReflectedChange& change);
  void on_owner(const OwnerKind& kind, const ReflectedChange& change);
  void on_pod(const ReflectedChange& change);
  void on_budget(const ReflectedChange& change);
  void join(const Pod& pod, bool is_gone);
  void move_members(const std::string& from, const std::string& to);
  void form(const std::string& key, const Pod* gone);
  void forget(const std::string& key);
  void add_members(Gang& gang);
  void refuse(const Json& about, const std::string& name, const std::string& why);
  void on_settings(const ReflectedChange& change);
  std::int64_t tickets_of(const std::string& name_space) const;
  void lose(JobId job, std::string_view why);
  void wake();
  void explain(const Json& object, std::string_view reason, std::string_view message);
  void explain(const Gang& gang, std::string_view reason, std::string_view message);
  void place(Gang& gang, const Step& step);
  std::vector<GangPlace> places_of(const Gang& gang, fairlead::Gang slices,
                                   std::span<const std::uint64_t> masks) const;
  void settle_all();
  void touch_due();
  void settle(Gang& gang);
  bool settle_shape(Gang& gang);
  bool settle_end(Gang& gang);
  bool settle_hold(Gang& gang);
  void settle_run(Gang& gang);
  void settle_broken(Gang& gang);
  void settle_stop(Gang& gang);
  bool settle_residence(Gang& gang);
  bool settle_rest(Gang& gang);
  bool settle_thaw(Gang& gang);
  void tell_stopped(Gang& gang);
  bool may_rest(const Gang& gang) const;
  void make_room(const Gang& gang);
  Gang* first_to_go(const std::string& node, std::uint64_t gpus);
  void settle_beyond(Gang& gang);
  void settle_stuck(Gang& gang);
  bool is_stuck(const Gang& gang) const;
  bool has_failed_stop(const Gang& gang) const;
  std::vector<GangAct> acts_to_run(const Gang& gang) const;
  std::string objection(const Gang& gang) const;
  bool may_come(const std::string& uid) const;
  bool is_others(const Pod& pod) const;
  void settle_node(NodeId node);
  void announce(Gang& gang);
  bool has_no_node(Gang& gang);
  void explain_refusals();
  std::set<PodNeeds> asked_of_nodes() const;
  bool is_quiet() const { return calls_.empty() && asked_.empty(); }
  void look_at_needs(const Gang& gang, const PodNeeds& needs);
  void outgrow();
  void check_inventory();
  bool stays(const Pod& pod, const std::string& node) const;
  Resources used(const std::string& node, const Gang& except, bool all) const;
  Room room_for(const Gang& gang) const;
  bool has_room(Gang& gang);
  void rest(const std::string& node);
  void end_rest(const std::string& node);
  void end_rests(Time now);
  JobSpec spec_of(Gang& gang, UserId user, const Cluster& cluster);
  bool is_over(const Gang& gang) const;
  void say(Gang& gang, const Event& event);
  void say(NodeId node, const Event& event);
  UserId user_of(const std::string& name_space);
  void ask(Gang& gang, const std::vector<GangAct>& acts);
  void ask_queued();
  KubeRequest request(const Gang& gang, const GangAct& act) const;
  void settle_asked(const GangAct& act, int status);
  void give_up(Gang& gang, EventKind kind, std::string reason);
  bool is_lost(const std::string& node) const;
  bool fits(const std::string& node, std::uint32_t gpus) const;
  bool fits_slots(const Gang& gang, const std::string& node) const;
  std::uint32_t taken(const std::string& node, bool by_others) const;
  void touch(Gang& gang) { touched_.insert(gang.view.owner().key); }
  Gang* gang_of(JobId job);
  Time deadline() const;

  KubeDoor& door_;
  const PodsOptions options_;
  Lease* const lease_;
  const Tables* tables_ = nullptr;
  Duration shift_;  // from the door's time to the engine's
  std::vector<KubeListener*> listeners_;
  std::function<void(Duration)> on_bound_;
  Inbox inbox_;
  bool leaves_ = false;
  WatchedKinds reflected_owners_;
  Reflector reflected_nodes_, reflected_pods_, reflected_budgets_, reflected_settings_;
  const std::array<Reflector*, 4> reflectors_ = {&reflected_nodes_, &reflected_pods_,
                                                 &reflected_budgets_, &reflected_settings_};
  std::map<std::string, Node> nodes_;                     // by name
  std::map<std::string, NodeId> node_rows_;               // of the tables
  std::map<std::string, Pod> pods_;                       // by uid
  std::map<std::string, std::set<std::string>> pods_on_;  // of a node, uids
  std::map<std::string, Gang> gangs_;                     // by key
  std::map<JobId, std::string> keys_;                     // of gangs
  Lineage lineage_;
  Budgets budgets_;
  std::map<std::string, std::set<std::string>> members_;  // uids of pods, by key
  std::map<CallId, Call> calls_;
  Residents residents_;
  std::deque<std::string>
      queued_;                     // gangs, keys: they ask once fewer than kCallsMax calls are open
  std::set<std::string> touched_;  // gangs that may have something to do
  std::set<std::string> touched_nodes_;
  // By uid of the pod.
  std::map<std::string, Asked> asked_;
  std::optional<Inventory> inventory_;  // of the engine's cluster
  bool is_suspect_ = false;             // whether it still holds is to be looked at
  Time outgrown_ = Time::never();       // when the world ends as it does not
  // Nodes whose GPUs are of no use as something else is used up, and until when that is believed.
  std::map<std::string, Time> resting_;
  std::set<std::string> spoken_;  // gangs of which the inbox has something
  std::set<NodeId> spoken_nodes_;
  std::set<UserId> spoken_users_;
  std::map<std::string, std::int64_t> tickets_;  // by namespace; of those that are named
  std::map<std::string, std::string> refused_;
  std::vector<Json> unexplained_;  // objects that are refused
  std::size_t next_job_ = 0;
};

}  // namespace fairlead
