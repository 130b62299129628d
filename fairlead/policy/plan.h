// Plan: a draft of who holds what, which starts as "every job keeps what it holds".
//
// A policy edits it with stop, take and place; the engine then derives steps from the difference.
// Capacity seen is always the draft's. mark and rollback make what-if cheap: rollback(mark())
// restores free(), all gangs, wake-ups and notes exactly.
//
// A policy that breaks a REQUIRES below gets no abort: the first such call is remembered, this and
// all later edits do nothing, and the engine ends the run with an error that names it.
//
// take, place, stop: O(slices). rollback: O(edits undone). No allocation once warm.
#pragma once

#include "fairlead/model/free_index.h"
#include "fairlead/model/jobs.h"
#include "fairlead/model/note.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fairlead {

class Plan {
 public:
  // Both must outlive the plan, which writes only the gang pool of the jobs.
  Plan(const Cluster& cluster, Jobs& jobs);

  // Capacity left by this draft.
  const FreeIndex& free() const { return free_; }
  // What the job holds in this draft, all copies of it; may be empty. Valid until the next place.
  Gang gang(JobId job) const { return jobs_->gangs.gang(held_[job]); }
  bool holds(JobId job) const { return !held_[job].empty(); }
  // GPUs of each of the job's tasks: what it takes of any node is to be a multiple of it.
  std::uint32_t task_gpus(JobId job) const { return jobs_->task_gpus[job]; }
  // How near each other its GPUs are to be.
  Closeness closeness(JobId job) const { return jobs_->closeness[job]; }

  // Adds a slice to the open gang; slices may come in any order, twice on one node adds up.
  // REQUIRES: that many GPUs of the node are free in this draft.
  void take(NodeId node, std::uint32_t gpus);
  // Gives the open gang to a job that holds nothing.
  // REQUIRES: the open gang is not empty, has whole tasks of the job on each node, and is within the
  // level that the job requires; !holds(job); the job waits or runs.
  void place(JobId job);
  // Gives the open gang to a job that holds a gang, as one more copy of it.
  // REQUIRES: of the open gang as for place; holds(job); no copy of the job is on any of its nodes.
  void place_copy(JobId job);
  // Gives the GPUs of the open gang back.
  void drop();
  // Takes all a job's gangs away; its progress is kept. REQUIRES: holds(job).
  void stop(JobId job);
  // Asks for a decide() at that time; many may be pending, equal ones merge. REQUIRES: t > now.
  void wake_at(Time t);
  // Leaves a fact in the journal. Only on change.
  void note(const Note& note);

  struct Mark {
    std::size_t edits, wakes, notes;
  };
  // REQUIRES: no open gang.
  Mark mark();
  void rollback(Mark mark);

  // The first broken REQUIRES: "place: it holds a gang already", and the job where it is about one.
  struct Misuse {
    std::string what;  // empty: there was none
    JobId job = JobId::none();
  };
  const Misuse& misuse() const { return misuse_; }

 private:
  friend class Engine;

  struct Edit {
    JobId job;
    GangRef before;  // what the edit replaced: nothing, if it was a place
    GangRef after;   // nothing, if it was a stop
  };

  // True if a call is allowed: it is, and so were all before. Else remembers why the first was not.
  bool allow(bool is_allowed, JobId job, std::string_view why) {
    if (is_allowed && misuse_.what.empty()) [[likely]] {
      return true;
    }
    refuse(job, why);
    return false;
  }
  void refuse(JobId job, std::string_view why);
  bool has_copy_on_open_nodes(JobId job) const;
  bool open_splits_a_task(JobId job) const;
  bool open_is_within(Level level) const;
  void tidy_open();

  // The engine's side: the world changed, or the draft became true.
  void add_job(JobId job);
  void reserve(std::size_t jobs) { held_.reserve(jobs); }
  void world_took_away(JobId job);  // a finish, a failure, an eviction
  void begin(Time now);

  Time now_;
  const Cluster* cluster_;
  Jobs* jobs_;
  FreeIndex free_;
  IdVector<JobId, GangRef> held_;
  std::vector<Slice> open_;
  std::vector<Slice> copies_;  // used within place_copy
  std::vector<Edit> edits_;
  std::vector<Time> wakes_;
  std::vector<Note> notes_;
  Misuse misuse_;
};

}  // namespace fairlead
