// The ends of jobs, by their tasks and by their time limits, and the tasks that follow a bad end.
//
// A task that ends by itself ends its job. If it ends badly and its job may be retried, another task follows: the engine
// gets a report that the job has lost its gang, and places it again, so that the next task has its own name. The job's
// file records the retry first, so that a crash gives no job an additional retry.
//
// A job that has had GPUs up to its time limit fails. The tables give the time used. Source: ours.
#pragma once

#include "fairlead/engine/inbox.h"
#include "fairlead/engine/tables.h"
#include "fairlead/local/gpu_watch.h"
#include "fairlead/local/local_jobs.h"

namespace fairlead {

class JobEnds {
 public:
  // REQUIRES: the arguments outlive this.
  JobEnds(const Tables& tables, LocalJobs& jobs, GpuWatch& gpus, Inbox& inbox)
      : tables_(tables), jobs_(jobs), gpus_(gpus), inbox_(inbox) {}

  // Handles the unrequested end of the task of a job that is here, which has no task any more.
  void on_task_ended(Time now, const LocalTask& task, LocalJob& job, TaskEnd end);
  // Returns whether another task may follow one that ended badly, and records the retry in the job's file.
  bool retry(TaskId task, Submission& what);

  // Fails the jobs that have reached their time limit at `instant`. O(running jobs).
  void on_time(Time instant);
  // Returns the time of the next on_time() that may have something to do without a change before. O(running jobs).
  Time deadline() const;

 private:
  void begin_again(JobId id, LocalJob& job);
  Time limit_at(JobId id) const;
  void end_at_limit(JobId id);

  const Tables& tables_;
  LocalJobs& jobs_;
  GpuWatch& gpus_;
  Inbox& inbox_;
};

}  // namespace fairlead
