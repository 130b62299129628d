// Compares the engine's desired state of each gang with the cluster, and returns the acts that bring them together.
//
// settle() looks at one gang and returns calls for the API server and reports for the engine. It sends nothing itself,
// and it does not assume that its earlier acts took effect: if a call had no effect, the next settle() returns the same
// act again.
//
//   desired state (Assignment) + view + gangs + the engine's tables  ->  Settlement: acts, reports, explanations
//
// The Assignment is the progress of a gang's current run; only settle() advances it.
#pragma once

#include "fairlead/engine/tables.h"
#include "fairlead/model/event.h"
#include "fairlead/model/step.h"
#include "fairlead/pods/cluster_view.h"
#include "fairlead/pods/gang_book.h"
#include "fairlead/pods/gang_devices.h"
#include "fairlead/pods/gang_order.h"
#include "fairlead/pods/gang_volumes.h"
#include "fairlead/pods/missing_pods.h"
#include "fairlead/pods/other_resources.h"
#include "fairlead/pods/room.h"
#include "fairlead/pods/slot_turns.h"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fairlead {

// Longest time from a step until the gang's last pod runs; after it the start has failed (chosen).
constexpr Duration kStartLimit = seconds(300);
// Time from a running gang's loss of a running pod to the gang's end, if its owner does not end first (chosen).
constexpr Duration kBrokenLimit = seconds(5);

// The engine's desired place of a gang, and the progress towards it.
struct Assignment {
  std::uint32_t tasks = 0;      // in the engine's job
  std::uint32_t task_gpus = 1;  // GPUs of each such task
  bool runs = false;            // the engine wants it to run at `where`, in run `run`
  RunId run = 0;                // last run that the engine started
  RunId ended = 0;              // last run that the engine stopped
  std::vector<GangPlace> where{};
  std::vector<RunId> leaving{};  // stopped runs whose end is not reported yet
  Time start{};                  // start of the run
  bool waits = false;            // at the last look, it waited for pods that leave (awaits_quota())
  Time waited{};                 // end of that wait
  bool is_clear = false;         // no pod of an earlier run takes GPUs
  bool is_started = false;       // the start was reported
  Time broken = Time::never();   // when a pod that ran stopped running; never: all run
  bool is_beyond = false;        // it has GPUs that the engine does not count for it
  bool is_evicted = false;       // Kueue has evicted it, and it has not left yet
  bool is_held = false;          // it must have no GPUs, for another cause than the order of gangs
};

// The result of a look at a gang.
struct Settlement {
  struct Explanation {
    std::string_view reason;  // reason of the Kubernetes event
    std::string message;
  };
  struct Report {
    Event event;
    std::string reason{};  // replaces the event's
  };
  std::vector<GangAct> acts{};
  std::optional<Explanation> when_sent{};    // explained after the acts are sent
  std::optional<Explanation> explanation{};  // explained now
  std::vector<Report> reports{};             // in order
  // Why its pods cannot be bound, for their condition PodScheduled; empty: nothing new.
  std::string missing{};
  bool is_new_job = false;        // the engine must get it as a job that arrives
  std::string short_node{};       // node that lacks a resource other than GPUs for it; empty: none
  std::set<std::string> gangs{};  // keys, to look at again
  std::set<std::string> nodes{};  // names, to look at again
};

class Reconciler {
 public:
  // REQUIRES: the arguments outlive this.
  Reconciler(const ClusterView& cluster, const GangBook& gangs, const GangOrder& order)
      : cluster_(cluster), gangs_(gangs), order_(order), turns_(cluster, gangs) {}
  // Sets the engine's tables. REQUIRES: called before settle().
  void attach(const Tables& tables) { tables_ = &tables; }

  // -- Decisions of the engine.

  // Sets the gang's assignment, which continues from an earlier scheduler.
  void adopt(const std::string& key, Assignment assignment);
  // Called when the engine gets the gang as a job: stores the shape that the engine gets.
  void announce(const std::string& key);
  // Ends a run of the gang. Returns true if the gang ran until then. A repeated stop has no effect.
  bool stop(const std::string& key, RunId run);
  // Starts the run of a place step. Returns false, without effect, for a repeated step. `is_calling`: calls about the
  // gang are in flight.
  bool place(const std::string& key, const Step& step, Time now, bool is_calling);
  // Called after place(), if the engine stopped the gang and placed it on the same GPUs at the same instant. Reports
  // the end of its earlier runs, unless the gang has to take its place again.
  Settlement keep(const std::string& key);
  // Called after the engine ended the gang's run by itself: its GPUs are free or gone.
  void lose(const std::string& key) { assignments_[key].runs = false; }
  void forget(const std::string& key);

  // -- Settlements.

  // Looks at the gang. REQUIRES: it exists, and the engine got all earlier reports about it. O(its pods x nodes).
  Settlement settle(const std::string& key, Time now);
  // Returns the reports that update the engine's state of a node. The engine gets all GPUs, except GPUs of pods
  // without a gang and of gangs with is_beyond.
  std::vector<Event> settle_node(NodeId node) const;
  // Returns the amounts of a node that the engine's gangs may use, beside GPUs. `resources`: has the needs of the jobs.
  OtherResources::Amounts amounts_on(NodeId node, const OtherResources& resources) const;

  // -- Reads.

  const Assignment& of(const std::string& key) const;
  // Returns the places of a gang on slices; each of its tasks has `task_gpus` GPUs.
  std::vector<GangPlace> places_of(const std::string& key, Gang slices,
                                   std::span<const std::uint64_t> masks,
                                   std::uint32_t task_gpus) const;
  // Returns true if the gang is gone, and the engine waits for no report about it.
  bool is_over(const std::string& key) const;
  // Returns the gangs that wait for their GPUs.
  std::vector<std::string> starting() const;
  // Returns the gangs that must leave GPUs and still have them.
  std::vector<std::string> kept() const;
  // Returns why the gang must have no place now, because its pods cannot be bound; empty: it may have one.
  const std::string& missing(const std::string& key) const { return missing_.why(key); }
  // Returns the gangs for which a time limit may have passed.
  std::vector<std::string> late(Time now) const;
  // Returns when the next time limit passes; Time::never(): there is none.
  Time due() const;

 private:
  // One look at a gang.
  struct Look {
    const std::string& key;
    const GangBook::Entry& entry;
    Assignment& wish;
    Time now;
    Settlement out{};
    const PodGang& gang() const { return entry.gang; }
    const Owner& owner() const { return entry.gang.owner(); }
  };

  // Each bool function returns true if the look is complete.
  bool settle_end(Look& look) const;
  bool settle_hold(Look& look);
  bool settle_missing(Look& look);
  bool settle_shape(Look& look) const;
  void settle_beyond(Look& look) const;
  void settle_run(Look& look);
  bool settle_thaw(Look& look) const;
  void settle_broken(Look& look) const;
  void settle_stop(Look& look);
  void settle_stuck(Look& look) const;

  void ask(Look& look, std::vector<GangAct> acts) const;
  void report(Look& look, const Event& event, std::string reason = {}) const;
  void report_stopped(Look& look) const;
  void give_up(Look& look, EventKind kind, std::string reason) const;
  bool is_stuck(const Look& look) const;
  bool has_failed_stop(const Look& look) const;
  VolumeActs acts_to_run(const Look& look) const;
  bool has_room(Look& look);
  Room room_of(const Look& look) const;
  bool stays(const Pod& pod, const std::string& node) const;
  bool is_outside(const Pod& pod) const;

  const ClusterView& cluster_;
  const GangBook& gangs_;
  const GangOrder& order_;
  const Tables* tables_ = nullptr;
  SlotTurns turns_;
  MissingPods missing_;
  std::map<std::string, Assignment> assignments_;  // by key
};

}  // namespace fairlead
