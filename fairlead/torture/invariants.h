// What must hold of a daemon whatever happens to its machine, judged by what really runs there
// (io/sim_tasks.h) and by what clients were told (promises.h):
//
//  1. what was acknowledged is there, once, and as it was submitted; what a client was told to have
//     ended has, and stays so; it ends only as its work did (after the last retry where that is
//     badly), or by its time limit, or as a client asked for;
//  2. a job has at most one living task, and one that is done has none but that was told to leave;
//     in the end nothing is left, neither of tasks nor in the folder;
//  3. no GPU has two tasks that run. One that was frozen and is asked to end runs beside the task
//     that has its GPUs now, as only it can write its checkpoint (local/local_backend.h);
//  4. what runs is what the tables say, on the GPUs that they say, and what is frozen waits;
//  5. the name of a task is used once, and a job has no more tasks than its retries allow
//     (SimTasks::problems); none runs beyond the time limit of its job, unless it was asked to end;
//  6. no task begins or goes on where the daemon has seen a process of no task (SimIo::check_gpus);
//  7. a GPU on which a task works that was told to leave is not said to be idle;
//  8. what one policy remembered behind a record, the next remembers there (torture.cc);
//  9. a job whose start failed is released once it may be tried again;
// 10. the journal is a possible one, and the tables are its fold.
//
// They hold between two steps of the daemon.
//
// Costs: after_step O(tasks); the others O(records).
#pragma once

#include "fairlead/engine/tables.h"
#include "fairlead/torture/promises.h"
#include "fairlead/torture/world_plan.h"

#include <string>
#include <vector>

namespace fairlead {

class Invariants {
 public:
  // What is passed must outlive it.
  Invariants(const SimIo& io, const Promises& promises, const Cluster& cluster);

  // Each of these returns what does not hold, or nothing.
  std::string after_step(const Tables& tables);
  // Of a daemon that has just been opened: also what it has from the one before.
  std::string after_open(const Tables& tables) const;
  // All jobs have ended.
  std::string at_end(const Tables& tables) const;

 private:
  std::string check_told(const Tables& tables) const;
  std::string check_acknowledged(const Tables& tables, JobId job, std::size_t submission) const;
  bool can_have_ended(const Tables& tables, JobId job, const Submitted& asked) const;
  std::string check_task(const Tables& tables, const SimTask& task) const;
  static std::string check_leaving(const Tables& tables, const SimTask& task);
  std::string check_gpus(const SimTask& task);
  std::string check_work(const Tables& tables, const SimTask& task) const;
  std::vector<std::uint32_t> gpus_of(const Tables& tables, JobId job) const;

  const SimIo& io_;
  const Promises& promises_;
  const Cluster& cluster_;
  std::vector<TaskId> runs_on_;  // by GPU of the machine
  std::vector<std::uint64_t> seen_at_;
  std::uint64_t steps_ = 0;
};

}  // namespace fairlead
