// The starts of tasks: which are due, whether the GPUs and their memory are free, and the start itself.
//
// A gang starts or continues once no other task works on its GPUs. A frozen task of the job on the same GPUs thaws; one on
// other GPUs must leave first.
//
// A frozen task keeps its memory on its GPUs. A job that states the memory it needs (local/gpu_room.h) is held while
// it fits nowhere beside the jobs that would lose their work. It starts once frozen jobs that can save theirs have left.
// A job that states the machine's memory that it needs (local/host_room.h) is held while it does not fit.
//
// A job that trains as copies (HadarE) is one task with the GPUs of all of them. FAIRLEAD_COPIES
// assigns the GPUs to the copies, and the job has its own tracker (copies/tracker.h). Source: ours.
#pragma once

#include "fairlead/engine/inbox.h"
#include "fairlead/engine/tables.h"
#include "fairlead/io/io.h"
#include "fairlead/local/gpu_watch.h"
#include "fairlead/local/job_ends.h"
#include "fairlead/local/local_jobs.h"
#include "fairlead/local/machine.h"
#include "fairlead/local/memory_room.h"

#include <string>
#include <utility>
#include <vector>

namespace fairlead {

class TaskLauncher {
 public:
  // `hook`: the folder of the hook for the jobs' Python processes; empty: they start without it. REQUIRES: the arguments
  // outlive this.
  TaskLauncher(Io& io, const Tables& tables, const Machine& machine, LocalJobs& jobs,
               GpuWatch& gpus, MemoryRoom& room, JobEnds& ends, Inbox& inbox, std::string hook)
      : io_(io),
        tables_(tables),
        machine_(machine),
        jobs_(jobs),
        gpus_(gpus),
        room_(room),
        ends_(ends),
        inbox_(inbox),
        hook_(std::move(hook)) {}

  // Adds the start of a job, behind the others. REQUIRES: the job has no start.
  void add(JobId id, LocalJob& job, LocalJob::Start start);
  // Removes the start of a job, if there is one. O(starts).
  void withdraw(JobId id, LocalJob& job);
  // Starts or continues the jobs whose GPUs are free now. O(starts x GPUs of a gang).
  void start_all_due(Time now);

 private:
  // Returns false if the start stays due, for example because its GPUs are not free yet.
  bool start_due(Time now, JobId id, LocalJob& job);
  bool make_room(Time now, JobId id, LocalJob& job);
  void fail_start(JobId id, LocalJob& job, const Error& error);
  Status begin_task(JobId id, LocalJob& job);

  Io& io_;
  const Tables& tables_;
  const Machine& machine_;
  LocalJobs& jobs_;
  GpuWatch& gpus_;
  MemoryRoom& room_;
  JobEnds& ends_;
  Inbox& inbox_;
  const std::string hook_;
  std::vector<JobId> due_;  // have a start, in order
};

}  // namespace fairlead
