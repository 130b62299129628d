// What the engine wants of each gang, and what follows from comparing that with what there is.
//
// settle() looks at one gang and returns what to ask of the API server and what to report to the engine. It sends
// nothing itself, and it does not rely on what it returned before: if a call had no effect, the next settle() returns
// the same act again.
//
//   desired state (Assignment) + view + gangs + the engine's tables  ->  Settlement: acts, reports, explanations
//
// The Assignment is how far a gang's current hold has come; settle() alone advances it.
#pragma once

#include "fairlead/engine/tables.h"
#include "fairlead/model/event.h"
#include "fairlead/model/step.h"
#include "fairlead/pods/cluster_view.h"
#include "fairlead/pods/gang_book.h"
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

// Time from a step to the gang's last pod that runs; after that the start has failed (chosen).
constexpr Duration kStartLimit = seconds(300);
// Time from a pod of a running gang that no longer runs to the gang's end, if its owner does not end first (chosen).
constexpr Duration kBrokenLimit = seconds(5);

// Where the engine wants a gang, and how far that has come.
struct Assignment {
  std::uint32_t pods = 0;      // as the engine was told
  std::uint32_t pod_gpus = 1;  // the same
  bool runs = false;           // it is to run, on `where`, under `hold`
  HoldId hold = 0;             // the last that the engine began
  HoldId ended = 0;            // the last that the engine stopped
  std::vector<GangPlace> where{};
  std::vector<HoldId> leaving{};  // that are over, and whose end is to be reported
  Time begun{};                   // the hold
  bool is_clear = false;          // no pod of an earlier hold takes GPUs
  bool is_started = false;        // that was reported
  Time broken = Time::never();    // since when a pod that ran does not
  bool is_beyond = false;         // it has GPUs that the engine does not know of
};

// What follows from a look at a gang.
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
  std::optional<Explanation> when_sent{};    // to be explained once the acts are sent
  std::optional<Explanation> explanation{};  // to be explained now
  std::vector<Report> reports{};             // in order
  bool is_new_job = false;                   // the engine is to get it as a job that arrives
  std::string short_node{};       // has too little of something beside GPUs for it; empty: none
  std::set<std::string> gangs{};  // keys, to look at again
  std::set<std::string> nodes{};  // names, to look at again
};

class Reconciler {
 public:
  // What is passed must outlive it.
  Reconciler(const ClusterView& cluster, const GangBook& gangs)
      : cluster_(cluster), gangs_(gangs), turns_(cluster, gangs) {}
  // Sets the engine's tables. REQUIRES: called before settle().
  void attach(const Tables& tables) { tables_ = &tables; }

  // -- What the engine wants.

  // Sets the gang's assignment to that of an earlier scheduler.
  void adopt(const std::string& key, Assignment assignment);
  // Called when the engine gets the gang as a job: keeps the shape that it gets.
  void announce(const std::string& key);
  // Ends a hold of the gang. Returns true if it ran until then. A stop that comes again has no effect.
  bool stop(const std::string& key, HoldId hold);
  // Begins the hold of a place step. Returns false, without effect, if the step comes again. `is_calling`: calls about
  // the gang are on their way.
  bool place(const std::string& key, const Step& step, Time now, bool is_calling);
  // Called after place(), if the engine placed the gang where it ran, at the instant at which it stopped it. Reports
  // the end of its earlier holds, unless it has to take its place again.
  Settlement keep(const std::string& key);
  // Called after the engine ended the gang's hold by itself: its GPUs are free or gone.
  void lose(const std::string& key) { assignments_[key].runs = false; }
  void forget(const std::string& key);

  // -- What follows.

  // Looks at the gang. REQUIRES: it is there, and the engine has had all earlier reports about it. O(its pods x nodes).
  Settlement settle(const std::string& key, Time now);
  // Returns the reports that bring the engine's state of a node up to date: it has as many GPUs as pods of others
  // leave. `rests`: its idle GPUs are not for use.
  std::vector<Event> settle_node(NodeId node, bool rests) const;

  // -- Reads.

  const Assignment& of(const std::string& key) const;
  // Returns the places that slices are, for a gang of pods of that size.
  std::vector<GangPlace> places_of(const std::string& key, Gang slices,
                                   std::span<const std::uint64_t> masks,
                                   std::uint32_t pod_gpus) const;
  // Returns true if the gang is gone, and the engine waits for nothing about it.
  bool is_over(const std::string& key) const;
  // Returns the gangs that wait for their GPUs.
  std::vector<std::string> starting() const;
  // Returns the gangs that are to leave GPUs.
  std::vector<std::string> kept() const;
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

  // Each of these returns true if the look is over.
  bool settle_end(Look& look) const;
  bool settle_hold(Look& look) const;
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
  std::vector<GangAct> acts_to_run(const Look& look) const;
  bool has_room(Look& look);
  Room room_of(const Look& look) const;
  bool stays(const Pod& pod, const std::string& node) const;

  const ClusterView& cluster_;
  const GangBook& gangs_;
  const Tables* tables_ = nullptr;
  SlotTurns turns_;
  std::map<std::string, Assignment> assignments_;  // by key
};

}  // namespace fairlead
