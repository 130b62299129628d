// The one loop for all worlds: wait for the next instant; fold its events into the tables; call the
// policy once; check the plan; journal its steps; let the backend carry them out.
//
// Invariants:
//  1. One decide() per distinct instant at which something happened that a policy may act on, after
//     all events of that instant. Instants never decrease.
//  2. A plan is an intention: what really happened comes back from the backend as events.
//  3. Every change of the tables is a record, journalled before its steps are carried out: the tables
//     are the fold of the journal (engine/tables.h).
//  4. A policy cannot break the engine, nor hang it: a plan against the rules of policy/plan.h ends
//     the run with an error, and so does a standstill (engine/standstill.h), which is only counted
//     where the world is real. A simulated world cannot hang it either.
//  5. A world cannot break it either: an event about a run that is over, one that came twice, a node
//     that is down already: journalled as ignored, counted, of no effect.
//  6. GPU indices are assigned here, below the policies: the last ones where a job resumes in
//     place and they are free, then to the others the lowest free ones of each node, as far as the
//     backend has nothing against them (Backend::last_choice).
//
// Cost of one step beside the policy's: O(events + edits of the plan x slices); O(running) where GPUs
// go down. No allocation once warm.
#pragma once

#include "fairlead/base/result.h"
#include "fairlead/engine/backend.h"
#include "fairlead/engine/eligibility.h"
#include "fairlead/engine/standstill.h"
#include "fairlead/engine/tables.h"
#include "fairlead/journal/journal.h"
#include "fairlead/model/known_speed.h"
#include "fairlead/model/known_work.h"
#include "fairlead/model/profile_options.h"
#include "fairlead/model/step.h"
#include "fairlead/policy/policy.h"

#include <cstdint>
#include <queue>
#include <string>
#include <utility>
#include <vector>

namespace fairlead {

// The fields of the journal's first record, which describe the run.
struct RunLabel {
  std::string policy;
  std::string options;
  std::string cluster;
  std::string trace;
  std::uint64_t seed = 0;
  std::uint32_t jobs = 0;  // jobs in the trace; 0 if jobs are not known beforehand
};

struct EngineCounts {
  std::int64_t decisions = 0;
  std::int64_t events = 0;
  std::int64_t steps = 0;
  std::int64_t ignored = 0;  // events
  std::int64_t skips = 0;    // of wake-ups, because the world was too far ahead
  Duration late_max;         // how far the world's clock was ahead of an instant, at most
};

struct EngineOptions {
  Time until = Time::never();  // the clock stops there
  ProfileOptions profiles{};   // how policies learn speeds from runs
  WorkOptions work{};          // how policies estimate the remaining work of jobs
  std::size_t jobs = 0;        // preallocated room, in jobs
  // If the world is further ahead than this, wake-ups up to its present are one decision.
  Duration slack{Time::never().ms};
  // A job whose start failed is held for retry_first, twice as long after each further failure in a
  // row, at most for retry_max; after starts_max failures in a row it has failed.
  Duration retry_first = seconds(10);
  Duration retry_max = seconds(3600);
  std::uint32_t starts_max = 10;
  // A node on which the starts of that many different jobs have failed, and none succeeded since, is
  // cordoned.
  std::uint32_t cordon_after = 3;
};

// Returns whether a job is here.
inline bool has_jobs(const Tables& tables) {
  return !tables.running.members().empty() || !tables.waiting.members().empty() ||
         !tables.held_until.empty();
}

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
    backend_ = &backend;
    jobs_.limits = backend.task_limits();
    journal_ = &journal;
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
  void restore_wakes(std::span<const Time> wakes);
  // Takes over a speed that an earlier engine has learned for that user's model; empty: of jobs without one.
  // REQUIRES: the type and the user are in the tables; called between two steps.
  void learn(UserId user, std::string_view model, GpuTypeId type, const MeasuredRate& measured);
  // Called if the policy has no state yet: the next step stops all running jobs, and the policy gets
  // an arrival for every present job, by id.
  void restart_policy() { restarts_policy_ = true; }

  Time now() const { return now_; }
  // When it has something to do by itself; never: not before something happens.
  Time next_wake() const;
  const EngineCounts& counts() const { return counts_; }
  const Tables& tables() const { return tables_; }
  const KnownSpeed& speeds() const { return known_; }

 private:
  struct Change {
    JobId job;
    GangRef before;
    StopCause cause;          // cause of the stop, if `before` is not empty
    bool keeps_gpus = false;  // it is placed where it was
  };
  // The storage of the gangs of steps_, which are spans of it, one after another.
  struct StepGangs {
    std::vector<Slice> slices;
    std::vector<std::uint64_t> masks;  // beside slices
  };

  // The one way in which the tables change.
  template <class What>
  void log(const What& what) {
    tables_.apply(now_, what);
    standstill_.on_record();
    journal_->on({now_, what});
  }
  record::Node node_record(NodeId node) const;
  // Journals the users that are not in the tables yet.
  void log_users(const Users& users);

  void admit(const Batch& batch);
  bool apply_events(const Batch& batch);
  // Each of these returns false if the event must be ignored.
  bool apply_event(const Event& event);
  bool apply_job_event(const Event& event);
  bool apply_node_event(const Event& event);
  bool arrive(JobSpec spec);
  bool finish(const Event& event);
  bool cancel(const Event& event);
  bool hold_back(JobId job);
  bool release(JobId job);
  bool evict(const Event& event);
  bool fail_start(const Event& event);
  bool confirm_stop(const Event& event);
  bool fail_stop(const Event& event);
  bool confirm_start(const Event& event);
  bool report(const Event& event);
  bool take_gpus_down(NodeId node, std::uint64_t gpus);
  bool bring_gpus_up(NodeId node, std::uint64_t gpus);
  bool cordon(NodeId node, std::string_view reason);
  bool uncordon(NodeId node);
  void refresh_capacity(NodeId node);
  void close_idle_gpus();
  void tell_all_jobs();
  // The columns beside the tables grow with them.
  void add_job(JobId job);
  void evict_from(NodeId node, std::uint64_t gpus);
  void release_due();

  bool is_running(JobId job, RunId run) const;
  void lose_run(JobId job, Duration lost = {});
  void stop_now(JobId job, StopCause cause);
  bool wake_up();
  Status decide(bool only_woke);
  Status check_plan();
  Status check_gang(JobId job) const;
  Result<bool> check_work();
  std::string no_work_cause() const;
  std::string standstill_cause() const;
  tl::unexpected<Error> misuse(JobId job, std::string_view what) const;
  void change_speed(JobId job, Rate rate);
  void collect_changes();
  void drop_unchanged();
  void commit();
  bool keep_gpus(JobId job);
  void add_place_steps(JobId job, bool keeps_gpus);
  void keep_gangs_of_steps();
  void grant_gpus(JobId job, GangRef gang, bool same_slices);
  void log_place(const Step& step);

  Tables tables_;
  Jobs& jobs_;  // the jobs of tables_
  KnownSpeed known_;
  KnownWork known_work_;
  Policy* policy_;
  Backend* backend_;
  RecordSink* journal_;
  const EngineOptions options_;

  Eligibility eligibility_;
  bool restarts_policy_ = false;
  Time now_;
  Time decided_{-1};  // the last instant that had its decision; -1: none yet
  Time present_;      // the latest time that the world reported
  Plan plan_;
  std::priority_queue<Time, std::vector<Time>, std::greater<>> wakes_;
  // The times at which jobs with failed starts may be placed again; some are released before.
  std::priority_queue<std::pair<Time, JobId>, std::vector<std::pair<Time, JobId>>, std::greater<>>
      retries_;
  std::vector<Event> news_;
  std::vector<Change> changes_;
  std::vector<Step> steps_;  // stops, then places
  StepGangs step_gangs_;
  IdVector<NodeId, std::uint64_t> granted_;   // to gangs of the plan that is being journalled
  IdVector<JobId, std::int64_t> changed_at_;  // the decision that last edited the job
  Standstill standstill_;
  EngineCounts counts_;
};

}  // namespace fairlead
