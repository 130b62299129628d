// The one loop for all worlds: wait for the next event time; apply its events to the tables; call
// the policy once; check the plan; journal it; let the backend carry it out.
//
// Invariants:
//  1. One decide() per distinct event time, after all events of that time.
//  2. A plan is an intention: what really happened comes back from the backend as events.
//  3. Everything that happens is journalled in order, and nothing else changes the tables.
//  4. A policy cannot break the engine, nor hang it: a plan against the rules of policy/plan.h ends
//     the run with an error, and so does a standstill (engine/standstill.h).
//  5. GPU indices are assigned here, below the policies: the lowest free ones of each node, or the
//     ones held last where a job resumes in place and they are free.
//
// Cost of one step beside the policy's: O(events + edits of the plan x slices). No allocation once
// warm.
#pragma once

#include "fairlead/base/result.h"
#include "fairlead/engine/backend.h"
#include "fairlead/engine/standstill.h"
#include "fairlead/journal/journal.h"
#include "fairlead/model/workload.h"
#include "fairlead/policy/policy.h"

#include <cstdint>
#include <queue>
#include <string>
#include <vector>

namespace fairlead {

// What the journal's first record says about the run.
struct RunLabel {
  std::string policy;
  std::string options;
  std::string cluster;
  std::string trace;
  std::uint64_t seed = 0;
};

struct EngineCounts {
  std::int64_t decisions = 0;
  std::int64_t events = 0;
  std::int64_t steps = 0;
};

class Engine {
 public:
  // Everything passed must outlive the engine. The engine writes the served columns of
  // workload.jobs; the rest of the workload is only read. `until`: the clock stops there.
  // `profiles`: how policies that learn speeds from runs do so. `work`: what policies are told of
  // the work that jobs have left.
  Engine(const Cluster& cluster, Workload& workload, const Speed& speed, Policy& policy,
         Backend& backend, RecordSink& journal, Time until = Time::never(),
         const ProfileOptions& profiles = {}, const WorkOptions& work = {});

  // Journals the run's header. REQUIRES: called once, before the first step.
  void begin(const RunLabel& label);
  // One event time. False when nothing can happen any more, or not before `until`. Errors
  // (Error::Kind::kRun), which name the policy and the job, and after which the engine is of no
  // further use: the policy's plan breaks a rule; it has brought the jobs to a standstill.
  Result<bool> step();
  // Journals the jobs that were never submitted, and the end. REQUIRES: called once, last.
  void end();

  // Goes on with another policy object, which must have loaded the state of the one before.
  void replace_policy(Policy& policy) { policy_ = &policy; }

  Time now() const { return now_; }
  const EngineCounts& counts() const { return counts_; }

 private:
  // A dense set of jobs with O(1) insert and erase; its order means nothing.
  class JobSet {
   public:
    explicit JobSet(std::size_t jobs) : slots_(jobs) {}
    void insert(JobId job);
    void erase(JobId job);
    std::span<const JobId> members() const { return members_; }

   private:
    std::vector<JobId> members_;
    IdVector<JobId, std::uint32_t> slots_;
  };
  struct Change {
    JobId job;
    GangRef before;
  };

  void apply_events(std::span<const Event> events);
  void apply_event(const Event& event);
  void arrive(JobId job);
  // The reason why the job can never run here, or empty.
  std::string_view unrunnable(JobId job) const;
  void leave(JobId job, JobState state);
  // Ends the current hold: GPUs back to their nodes, attained service settled. `lost`: running time
  // whose work the world lost.
  void end_hold(JobId job, Duration lost = {});
  Status decide(bool only_woke);
  Status check_plan();
  Status check_gang(JobId job) const;
  std::string standstill_cause() const;
  tl::unexpected<Error> misuse(JobId job, std::string_view what) const;
  void collect_changes();
  void drop_unchanged();
  void commit();
  void commit_stop(JobId job);
  void commit_place(JobId job);
  void grant_gpus(JobId job, GangRef gang, bool same_slices);
  void emit(RecordKind kind, JobId job);
  void emit_job(RecordKind kind, JobId job, std::string_view reason);
  void emit_place(const Step& step);
  void change_speed(JobId job, Rate rate);

  const Cluster& cluster_;
  Workload& workload_;
  Jobs& jobs_;
  KnownSpeed known_;
  KnownWork known_work_;
  Policy* policy_;
  Backend& backend_;
  RecordSink& journal_;
  const Time until_;

  Time now_;
  Plan plan_;
  JobSet waiting_;
  JobSet running_;
  IdVector<NodeId, std::uint64_t> gpus_free_;  // by node: bit i set if GPU i is free
  std::priority_queue<Time, std::vector<Time>, std::greater<>> wakes_;
  std::vector<Event> news_;
  std::vector<Change> changes_;
  std::vector<Step> steps_;
  IdVector<JobId, std::int64_t> changed_at_;  // the decision that last edited the job
  Standstill standstill_;
  EngineCounts counts_;
  Record::Counts job_counts_;
};

}  // namespace fairlead
