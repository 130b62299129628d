// Plan: a draft of the gang of each job, which starts as "every job keeps its gang".
//
// A policy edits it with stop, take and place; the engine then derives steps from the difference.
// Every capacity is the draft's. mark and rollback make what-if cheap: rollback(mark()) restores
// free(), all gangs, wake-ups and notes exactly.
//
// A policy that breaks a REQUIRES below causes no abort. The plan records the first such call and
// ignores it and all later edits. The engine then ends the run with an error that names the call.
//
// take, place, stop: O(slices). rollback: O(edits undone). No allocation once warm.
#pragma once

#include "fairlead/model/free_index.h"
#include "fairlead/model/jobs.h"
#include "fairlead/model/note.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fairlead {

class DecisionBudget;                 // policy/decision_budget.h
enum class StopCause : std::uint8_t;  // model/step.h

class Plan {
 public:
  // Both must outlive the plan, which writes only the gang pool of the jobs.
  Plan(const Cluster& cluster, Jobs& jobs);

  // Capacity left by this draft.
  const FreeIndex& free() const { return free_; }
  // Returns the GPUs assigned to the job in this draft, across all its copies. Empty if the job has
  // none. Valid until the next call to place().
  Gang gang(JobId job) const { return jobs_->gangs.gang(gangs_[job]); }
  bool has_gang(JobId job) const { return !gangs_[job].empty(); }
  // GPUs of each of the job's tasks. The job's GPUs on a node must be a multiple of it.
  std::uint32_t task_gpus(JobId job) const { return jobs_->task_gpus[job]; }
  // Returns the free GPUs of the node that the job's tasks can use: whole tasks, and no more than its other resources
  // have room for. O(1), or as TaskRoom::tasks() if the world limits tasks.
  std::uint32_t usable(JobId job, NodeId node) const;
  // The same of the node's GPUs, up or not, if no gang has any of the node.
  std::uint32_t usable_when_idle(JobId job, NodeId node) const;
  // The room for tasks by resources other than GPUs. The open gang has taken none of it.
  const TaskRoom& room() const { return room_; }
  // The levels of the network within which the job requires or prefers its GPUs.
  Closeness closeness(JobId job) const { return jobs_->closeness[job]; }

  // Adds a slice to the open gang. Slices may come in any order; two slices of one node add up.
  // REQUIRES: that many GPUs of the node are free in this draft.
  void take(NodeId node, std::uint32_t gpus);
  // Gives the open gang to a job that has no gang, and returns true. A pinned job (Jobs::is_pinned)
  // gets the GPUs of its last run instead. If it cannot, or if a node lacks room() for the tasks, the open
  // gang is dropped, the job has no gang, and place() returns false. REQUIRES: the open gang is not empty, has whole tasks of the job on each
  // node, and is within the level that the job requires; !has_gang(job); the job waits or runs.
  bool place(JobId job);
  bool is_pinned(JobId job) const { return jobs_->is_pinned(job); }
  // Returns true if a pinned job must wait because a GPU of its last run is down or closed. O(slices).
  bool is_blocked(JobId job) const;
  // Gives a pinned job the GPUs of its last run. The engine moves jobs that may move off them, to others
  // of the node. Returns false, without a change, if its nodes have too few GPUs free in this draft or lack room(), or
  // another pinned job has one of these GPUs, or one is down or closed.
  // REQUIRES: is_pinned(job); no open gang; !has_gang(job); the job waits or runs.
  bool place_pinned(JobId job);
  // Gives the open gang to a job that has a gang: one more copy of it. Drops the open gang instead if a
  // node lacks room() for the tasks. REQUIRES: the open gang
  // meets the rules of place(); has_gang(job); no copy of the job is on any of its nodes.
  void place_copy(JobId job);
  // Gives the GPUs of the open gang back.
  void drop();
  // Takes all gangs from a job; its progress is kept. If the job had them before this plan, the journal
  // records the first cause given. REQUIRES: has_gang(job); !is_by_user(cause).
  void stop(JobId job, StopCause cause);
  // Asks for a call of decide() at that time. Many may be pending; equal ones merge. REQUIRES: t >
  // now.
  void wake_at(Time t);
  // Writes a fact to the journal. To be called only on a change.
  void note(const Note& note);

  // The budget of this decision (decision_budget.h). A policy calls examine() before each search for a place for a job,
  // in its order of importance. False: it leaves the job as if there was no place for it. may_examine() does not count a
  // search. examine_again() is for a search that a decision must repeat although an earlier one, which was cut, made it.
  // All return true for a job that runs. Without a budget, nothing is refused or cut.
  bool may_examine(JobId job) { return budget_ == nullptr || admits(job, Search::kNone); }
  bool examine(JobId job) { return budget_ == nullptr || admits(job, Search::kFirst); }
  bool examine_again(JobId job) { return budget_ == nullptr || admits(job, Search::kRepeated); }
  bool is_cut() const;
  // Returns true if this decision goes on after one that was cut: a policy also tries jobs again for which no event
  // makes room.
  bool continues() const;
  // Returns `is_due`, the start of a round; true as well if this decision continues a round that was cut.
  bool in_round(bool is_due);

  struct Mark {
    std::size_t edits, wakes, notes;
  };
  // REQUIRES: no open gang.
  Mark mark();
  void rollback(Mark mark);

  // The first broken REQUIRES, such as "place: it has a gang already", and its job if there is
  // one.
  struct Misuse {
    std::string what;  // empty: there was none
    JobId job = JobId::none();
  };
  const Misuse& misuse() const { return misuse_; }

 private:
  friend class EnginePlan;  // engine/engine_plan.h

  using NodeGpus = IdVector<NodeId, std::uint64_t>;  // by node: bit i for its GPU i
  struct Edit {
    JobId job;
    GangRef before;  // the gang before the edit; none if the edit is a place
    GangRef after;   // the gang after the edit; none if the edit is a stop
    StopCause cause;
  };

  // Returns true if this call and all earlier ones are allowed; else records the first reason.
  bool allow(bool is_allowed, JobId job, std::string_view why) {
    if (is_allowed && misuse_.what.empty()) [[likely]] {
      return true;
    }
    refuse(job, why);
    return false;
  }
  void refuse(JobId job, std::string_view why);
  enum class Search : std::uint8_t { kNone, kFirst, kRepeated };
  bool admits(JobId job, Search search);
  bool may_place(JobId job);
  bool has_copy_on_open_nodes(JobId job) const;
  bool open_splits_a_task(JobId job) const;
  bool open_is_within(Level level) const;
  void tidy_open();
  // Returns true if room_ has room for the open gang; else drops the gang. REQUIRES: the open gang is tidy.
  bool fits_open(JobId job);
  // Takes the needs of the gang's tasks out of room_, or gives them back.
  void count_room(JobId job, Gang gang, bool takes);

  // Keep pinned_; they do nothing for a job that is not pinned.
  void pin(JobId job, GangRef gang);
  void unpin(JobId job, GangRef gang);
  bool overlaps(GangRef gang, const NodeGpus& gpus) const;

  Time now_;
  DecisionBudget* budget_ = nullptr;  // null: there is none
  const Cluster* cluster_;
  Jobs* jobs_;
  FreeIndex free_;
  TaskRoom room_;
  IdVector<JobId, GangRef> gangs_;
  NodeGpus pinned_;    // GPUs of the pinned jobs that have a gang in this draft
  NodeGpus unusable_;  // GPUs that are down or closed
  std::vector<Slice> open_;
  std::vector<Slice> copies_;  // used within place_copy
  std::vector<Edit> edits_;
  std::vector<Time> wakes_;
  std::vector<Note> notes_;
  Misuse misuse_;
};

}  // namespace fairlead
