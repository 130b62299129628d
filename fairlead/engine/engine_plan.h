// The engine's side of a plan: a policy edits the draft, and the engine keeps it equal to the tables.
//
// Between decisions each job has the gang in the draft that it has in the tables. During a decision the draft is
// ahead of them. Every gang is a row of the pool of the jobs.
//
// O(slices) for a gang, else O(1); begin and make_way: O(running) at most.
#pragma once

#include "fairlead/policy/decision_budget.h"
#include "fairlead/policy/plan.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace fairlead {

class EnginePlan {
 public:
  using Edit = Plan::Edit;

  // Both must outlive this object, which writes only the gang pool of the jobs.
  EnginePlan(const Cluster& cluster, Jobs& jobs) : plan_(cluster, jobs) {}
  EnginePlan(const EnginePlan&) = delete;  // the plan refers to the budget
  EnginePlan& operator=(const EnginePlan&) = delete;

  // Changes of the world.
  void reserve(std::size_t jobs) { plan_.gangs_.reserve(jobs); }
  void add_job(JobId job) { plan_.gangs_.grow_to(job); }
  // Counts the last node of the cluster, if it does not count yet.
  void add_node();
  // `gpus`: those in service, bit i for GPU i. REQUIRES: no gang has any of the others.
  void set_usable(NodeId node, std::uint64_t gpus);
  // Takes the gang of a job away that the world or a user stopped.
  void lose_gang(JobId job);
  // Takes the GPUs of a gang that a record gives the job.
  void take(JobId job, Gang gang);
  // Gives the job that gang. REQUIRES: the draft has taken the gang's GPUs, or the gang is empty.
  void set_gang(JobId job, GangRef gang) {
    plan_.gangs_[job] = gang;
    plan_.pin(job, gang);
  }
  // Keep the GPUs of pinned jobs, before and after a job begins or ceases to be pinned.
  void unpin(JobId job) { plan_.unpin(job, plan_.gangs_[job]); }
  void pin(JobId job) { plan_.pin(job, plan_.gangs_[job]); }

  // Sets the evaluations of each decision; 0: no limit. No decision has examined any job yet.
  void set_budget(std::int64_t evaluations);
  DecisionBudget& budget() { return budget_; }
  const DecisionBudget& budget() const { return budget_; }

  // A decision: the returned plan is for the policy.
  Plan& begin(Time now, std::span<const JobId> running);
  // Called after decide(): places jobs that keep a gang in the way of pinned jobs again, on the same nodes, so that
  // they are granted other GPUs. O(running), if a pinned job was placed.
  void make_way(std::span<const JobId> running);
  // The result of the decision. Valid until the next begin().
  std::span<const Edit> edits() const { return plan_.edits_; }
  std::span<const Time> wakes() const { return plan_.wakes_; }
  std::span<const Note> notes() const { return plan_.notes_; }
  const Plan::Misuse& misuse() const { return plan_.misuse(); }
  bool has_open_gang() const { return !plan_.open_.empty(); }
  // Returns whether pinned jobs have GPUs of that gang of a job that may move.
  bool is_in_the_way(JobId job, GangRef gang) const {
    return !plan_.is_pinned(job) && plan_.overlaps(gang, plan_.pinned_);
  }

  const FreeIndex& free() const { return plan_.free(); }
  // Returns the gang of the job in the draft; empty: it has none.
  GangRef gang(JobId job) const { return plan_.gangs_[job]; }
  bool has_gang(JobId job) const { return plan_.has_gang(job); }

 private:
  Plan plan_;
  DecisionBudget budget_;
};

}  // namespace fairlead
