// Real jobs on one machine: turns the engine's steps into tasks of an Io, and the tasks' ends into events.
//
// Each job has at most one task (local/local_jobs.h). A stop freezes the task, and a place on the same GPUs thaws it.
// Before a place on other GPUs the task must leave: it is asked to write a checkpoint and end (SIGTERM), and is killed
// when its grace is over. Then a new task of the job starts from the checkpoint. A frozen task leaves beside the task
// that has its GPUs now, because only the frozen task can write its state.
//
// A task that was asked to leave does not end its job, unless it had ended before the request.
//
// A GPU that no job may have now (local/gpu_watch.h) is down for the engine, unless a job has it already: that job
// stays, and no other job follows it.
//
// Its parts: the starts (local/task_launcher.h), the ends (local/job_ends.h), and the monitor of running jobs
// (local/job_monitor.h). All other state is in the journal and on the machine: after a crash, adopt() reconciles the
// tasks that it finds with the tables. Source: ours.
#pragma once

#include "fairlead/engine/inbox.h"
#include "fairlead/engine/tables.h"
#include "fairlead/io/io.h"
#include "fairlead/journal/journal.h"
#include "fairlead/local/gpu_watch.h"
#include "fairlead/local/job_ends.h"
#include "fairlead/local/job_monitor.h"
#include "fairlead/local/local_jobs.h"
#include "fairlead/local/machine.h"
#include "fairlead/local/memory_room.h"
#include "fairlead/local/reservations.h"
#include "fairlead/local/start_conditions.h"
#include "fairlead/local/submission.h"
#include "fairlead/local/task_history.h"
#include "fairlead/local/task_launcher.h"

#include <functional>
#include <span>
#include <string>
#include <vector>

namespace fairlead {

class LocalBackend : public RecordSink {
 public:
  // `grace`: from SIGTERM to SIGKILL. `limits`: of the engine's world, for reservations. `hook`: the folder of the hook for the jobs' Python processes (python/hook);
  // empty: they start without it. `on_foreign`: of GpuWatch. The arguments must outlive the backend.
  LocalBackend(Io& io, const Tables& tables, const Machine& machine, Duration grace, Inbox& inbox,
               StartConditions& conditions, TaskLimits& limits, std::string hook = {},
               OnForeign on_foreign = OnForeign::kNothing);

  // Adds a job from before the daemon's start, with the number of its tasks that were started. A job that is done may
  // have processes.
  void add(JobId job, Submission submission, std::uint32_t starts);
  // Adds a new job of a client whose connection is open as long as its terminal.
  void add_new(const JobSpec& asked, Submission submission, ConnectionId client);

  // Changes the priority of a job. Error: the disk takes no more, and nothing was changed. REQUIRES: the job is here.
  Status set_priority(JobId job, Priority priority);

  // Notes which jobs are done, held or released.
  void on(const Record& record) override;
  // REQUIRES: the journal that has these steps is on the disk.
  void carry_out(Time now, std::span<const Step> steps);
  // Makes the tasks of finished jobs leave, and removes the files of ended ones. Calls `on_end` for each job first, and
  // stops if that returns an error. REQUIRES: the journal that records these ends is on the disk.
  Status retire(Time now, const std::function<Status(JobId, const Submission&)>& on_end);
  // Reconciles the found tasks with the tables. REQUIRES: all jobs that are here were added; called once, first.
  void adopt(Time now, std::span<const TaskStatus> tasks, const TaskHistory& history);

  void on_task_ended(Time now, TaskId task, TaskEnd end);
  // Returns the time of the next on_time(): the end of a task's grace, a job's time limit, or the next look at the
  // jobs' progress.
  Time deadline() const;
  // `instant`: the time of the events reported next; for a timer noticed late, the timer's time.
  void on_time(Time now, Time instant);
  // Returns an error if the daemon must stop because state needed after a crash cannot be written.
  const Status& disk() const { return jobs_.disk() ? conditions_.disk() : jobs_.disk(); }
  const LocalJobs& jobs() const { return jobs_; }
  const JobMonitor& monitor() const { return monitor_; }
  const GpuWatch& gpus() const { return gpus_; }
  GpuWatch& gpus() { return gpus_; }
  const Reservations& reservations() const { return reservations_; }
  Reservations& reservations() { return reservations_; }
  // Returns the GPUs of a node that a start of the job should get last: another job's task is leaving them, tasks failed
  // at once on them, or it does not fit beside the jobs there.
  std::uint64_t last_choice(JobId job, NodeId node) const;

 private:
  void stop(Time now, JobId id, RunId run, bool moves);
  void freeze(Time now, LocalJob& job, RunId run);
  void say_stopped(JobId job, RunId run);
  void find(Time now, const TaskStatus& status, const TaskHistory& history);
  void take_up(Time now, JobId id, LocalJob& job);
  void start_all_due(Time now);
  void remove(JobId id);

  Io& io_;
  const Tables& tables_;
  Inbox& inbox_;
  StartConditions& conditions_;
  const FirstGpus first_gpus_;
  LocalJobs jobs_;  // that are not done, or whose task has not left yet
  JobMonitor monitor_;
  GpuWatch gpus_;
  MemoryRoom room_;
  Reservations reservations_;
  JobEnds ends_;
  TaskLauncher launcher_;
  std::vector<JobId> done_;    // since the last retire()
  std::vector<TaskId> ended_;  // the same
};

}  // namespace fairlead
