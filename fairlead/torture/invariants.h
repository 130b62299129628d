// Invariants of a daemon, whatever happens to its machine. They are judged by the real tasks there
// (io/sim_tasks.h) and by the answers to clients (promises.h):
//
//  1. an acknowledged job is there, once, and as it was submitted. A job that was reported as ended
//     stays so. It ends only with its work (after the last retry if that fails), by its time limit, or
//     by a client's request;
//  2. a job has at most one living task. A job that is done has only tasks that were asked to leave; in
//     the end neither tasks nor their files are left;
//  3. no GPU has two running tasks. Exception: a frozen task that is asked to end runs beside the task
//     that has its GPUs now, because only it can write its checkpoint (local/local_backend.h);
//  4. the running tasks and their GPUs are the ones in the tables, and the jobs of frozen tasks wait;
//  5. the name of a task is used once, and a job has no more tasks than its retries allow
//     (SimTasks::problems); none runs beyond the time limit of its job, unless it was asked to end;
//  6. no task starts or continues on a GPU with a foreign process that the daemon saw (SimMachine::seen_foreign);
//  7. a GPU with a working task that was asked to leave is not listed as idle;
//  8. the policy of a new daemon has the same state behind a record as the one before (torture.cc);
//  9. a job whose start failed is released once it may be tried again;
// 10. a job starts only after the jobs that have to end before, and at most so many tasks of an array are released
//     and unfinished;
// 11. a user's jobs have no more GPUs at once than the user's limit, and the same holds for a group;
// 12. a job that runs leaves its GPUs soon if one of its user with a higher priority waits;
// 13. the living tasks on a GPU, and all of them on the machine, state no more memory than it has, except killed ones;
// 14. the journal is a possible one, and the tables are its fold.
//
// They hold between two steps of the daemon.
//
// Costs: after_step O(tasks + running x waiting jobs); the others O(records).
#pragma once

#include "fairlead/engine/tables.h"
#include "fairlead/torture/promises.h"
#include "fairlead/torture/world_plan.h"

#include <map>
#include <string>
#include <vector>

namespace fairlead {

class Invariants {
 public:
  // REQUIRES: the arguments outlive this object.
  Invariants(SimIo& io, const Promises& promises, const Cluster& cluster);

  // Each check returns a violated invariant, or an empty text.
  std::string after_step(const Tables& tables);
  // Checks a daemon that has just been opened, including its state from the one before.
  std::string after_open(const Tables& tables);
  // All jobs have ended.
  std::string at_end(const Tables& tables);

 private:
  std::string check_told(const Tables& tables) const;
  std::string check_acknowledged(const Tables& tables, JobId job, std::size_t submission) const;
  bool can_have_ended(const Tables& tables, JobId job, const Submitted& asked) const;
  std::string check_task(const Tables& tables, const SimTask& task) const;
  static std::string check_leaving(const Tables& tables, const SimTask& task);
  std::string check_gpus(const SimTask& task);
  std::string check_memory();
  std::string check_after(const Tables& tables, JobId job) const;
  std::string check_arrays(const Tables& tables) const;
  // Returns whether a waiting job has a higher priority than another one of its user, and the machine can run it now.
  bool waits_before(const Tables& tables, JobId job, JobId lower) const;
  std::string check_priorities(const Tables& tables);
  std::string check_limits(const Tables& tables) const;
  std::string check_work(const Tables& tables, const SimTask& task) const;
  std::vector<std::uint32_t> gpus_of(const Tables& tables, JobId job) const;

  const SimIo& io_;
  const SimDisk& disk_;
  const Promises& promises_;
  const Cluster& cluster_;
  std::vector<TaskId> runs_on_;  // by GPU of the machine
  std::vector<std::uint64_t> seen_at_;
  std::vector<std::uint32_t> memory_mb_;  // by GPU: stated by the tasks there
  std::uint64_t steps_ = 0;
  // Jobs that run while one of a higher priority waits, with the number of steps since then.
  std::map<JobId, int> runs_first_;
};

}  // namespace fairlead
