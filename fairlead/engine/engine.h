// The one loop for all worlds: wait for the next instant; fold its events into the tables; call the
// policy once; check the plan; journal its steps; let the backend carry them out.
//
// Invariants:
//  1. One decide() per distinct instant at which something happened that a policy may act on, after
//     all events of that instant. Instants never decrease. A job that needs no GPU is placed, with an empty gang, at the
//     instant at which it waits; no policy gets it (docs/decisions/0077-jobs-without-gpus.md).
//  2. A plan is an intention: what really happened comes back from the backend as events.
//  3. Every change of the tables is a record, journalled before its steps are carried out: the tables
//     are the fold of the journal (engine/tables.h).
//  4. Neither a policy (engine/plan_steps.h) nor a world (engine/event_rules.h) can break the engine. A
//     standstill (engine/standstill.h) ends the run with an error; where the world is real, it is only
//     counted.
//
// The parts: EngineState, the tables and all knowledge that follows from them; EventRules, which applies events to it;
// PlanSteps, which turns the policy's plan into steps; Timers.
//
// Cost of one step beside the policy's: O(events + edits of the plan x slices); O(running) where GPUs
// go down. No allocation once warm.
#pragma once

#include "fairlead/base/result.h"
#include "fairlead/engine/backend.h"
#include "fairlead/engine/engine_options.h"
#include "fairlead/engine/engine_state.h"
#include "fairlead/engine/event_rules.h"
#include "fairlead/engine/plan_steps.h"
#include "fairlead/engine/run_header.h"
#include "fairlead/engine/timers.h"
#include "fairlead/journal/journal.h"
#include "fairlead/policy/policy.h"

#include <algorithm>
#include <span>
#include <string_view>

namespace fairlead {

class Engine {
 public:
  // Everything passed by reference or pointer must outlive the engine. `speed`: what policies may
  // know of speeds without measuring them; null: nothing.
  Engine(Cluster cluster, const Speed* speed, Policy& policy, Backend& backend, RecordSink& journal,
         const EngineOptions& options);

  // Journals the run's header: the users known so far, and the nodes. REQUIRES: called once, before
  // the first step.
  void begin(const RunLabel& label, const Users& users);
  // One instant. False when nothing can happen any more, or not before `until`. Errors
  // (Error::Kind::kRun), which name the policy and the job, and after which the engine is of no
  // further use: the policy's plan breaks a rule; it has brought the jobs to a standstill, in a world
  // that does not report its steps; the jobs of a simulated world do next to no work.
  Result<bool> step();
  // Journals the jobs that were never submitted, the `users` that never came, and the end.
  // REQUIRES: called once, last.
  void end(const Users& users, std::span<const JobSpec> unsubmitted);

  // Goes on with another policy object, which must have loaded the state of the one before.
  void replace_policy(Policy& policy) { policy_ = &policy; }
  // Goes on with another world and another journal, which stand where those before stood; it is
  // `present` there by now.
  void replace_world(Backend& backend, RecordSink& journal, Time present = {}) {
    state_.replace_world(backend, journal);
    present_ = std::max(present_, present);
  }

  // Journals all that the policy remembers. REQUIRES: between two steps. (engine/recovery.h)
  void snapshot(std::string_view policy_options);
  // Writes a short journal to `sink`: the present jobs with their progress, as if they had just come,
  // and the policy's state. An engine that recovers from it equals this one, except for GPUs of ended
  // runs that are not free yet, and for failed starts: jobs that wait for another try are held until
  // the world releases them. Returns false, and writes nothing, while the policy does not know of the
  // jobs yet.
  // REQUIRES: between two steps. O(jobs + slices).
  bool condense(const RunLabel& label, RecordSink& sink) const;
  // Called by recovery instead of begin() and step(): applies a record of an earlier journal. It is
  // not passed to the policy, and not journalled again. REQUIRES: records of one
  // run, in order, from the first.
  void restore(const Record& record);
  // Called after the policy has loaded the state of that snapshot.
  void restore_wakes(std::span<const Time> wakes) { timers_.wake_at(wakes); }
  // Loads the state of the budget, which follows the policy's. Leaves the reader !ok() if its bytes do not encode one.
  void restore_budget(Reader& reader);
  // Takes over a speed that an earlier engine has learned for that user's model; empty: of jobs without one.
  // REQUIRES: the type and the user are in the tables; called between two steps.
  void learn(UserId user, std::string_view model, GpuTypeId type, const MeasuredRate& measured);
  // Called if the policy has no state yet: the next step stops all running jobs, and the policy gets
  // an arrival for every present job, by id.
  void restart_policy() { restarts_policy_ = true; }

  Time now() const { return state_.now; }
  // When it has something to do by itself; never: not before something happens.
  Time next_wake() const { return timers_.next(); }
  const EngineCounts& counts() const { return state_.counts; }
  const Tables& tables() const { return state_.tables; }
  const KnownSpeed& speeds() const { return state_.speeds; }

 private:
  // Journals the users that are not in the tables yet.
  void log_users(const Users& users);
  void set_clock(const Batch& batch);
  Status decide(bool asks, bool only_woke, bool restarts);
  void ask_policy(const View& view, Plan& plan, bool restarts);
  Status check_idle(bool only_woke);
  Result<bool> check_work();
  Standstill::Jobs present_jobs() const;

  Policy* policy_;
  const EngineOptions options_;
  EngineState state_;
  Timers timers_;
  EventRules events_;
  PlanSteps steps_;
  Time decided_{-1};  // the last instant that had its decision; -1: none yet
  Time present_;      // the latest time that the world reported
  bool restarts_policy_ = false;
};

}  // namespace fairlead
