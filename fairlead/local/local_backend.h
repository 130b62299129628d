// Real jobs on one machine: turns the engine's steps into tasks of an Io, and the tasks' ends into events.
//
// Each job has at most one task. A stop freezes the task, and a place on the same GPUs thaws it. Before a place on
// other GPUs the task must leave: it is asked to write a checkpoint and end (SIGTERM), and is killed when its grace is
// over. Then a new task of the job starts from the checkpoint. A frozen task leaves beside the task that has its GPUs
// now, because only the frozen task can write its state. A gang starts or continues once no other task works on its
// GPUs.
//
// A job that has no handler for SIGTERM would lose its work, so its processes are watched: until all of its workers
// have one, the job is pinned, and the engine gives it no other GPUs. A job with a handler is pinned, too, once its
// progress has fallen after a move; its file records the loss.
//
// A task that ends by itself ends its job. A task that was asked to leave does not end its job, unless it had ended
// before the request. If a task ends badly and its job may be retried, another task follows: the backend reports that
// the job has lost its gang, and the engine places it again, so that the next task has its own name. The job's file
// records the retry first, so that a crash gives no job an additional retry.
//
// A job that has had GPUs up to its time limit fails, and its task leaves. The tables give the time used.
//
// A frozen task keeps its memory on its GPUs. A job that states the memory it needs (local/gpu_room.h) is held while
// it fits nowhere beside the jobs that would lose their work. It starts once frozen jobs that can save theirs have left.
// A job that states the machine's memory that it needs (local/host_room.h) is held while it does not fit.
//
// A job that trains as copies (HadarE) is one task with the GPUs of all of them. FAIRLEAD_COPIES
// assigns the GPUs to the copies, and the job has its own tracker (copies/tracker.h).
//
// A GPU that no job may have now (local/gpu_watch.h) is down for the engine, unless a job has it already: that job
// stays, and no other job follows it.
//
// Jobs are measured by several sensors (measure/sensors.h). A user's speeds of a model are relative to the first speed
// measured, per GPU (local/references.h). The speed of a job of which no sensor reports is unknown, and nothing is
// assumed.
//
// All other state is in the journal and on the machine: after a crash, adopt() reconciles the tasks that it finds with
// the tables.
#pragma once

#include "fairlead/engine/inbox.h"
#include "fairlead/engine/tables.h"
#include "fairlead/io/io.h"
#include "fairlead/journal/journal.h"
#include "fairlead/local/gpu_room.h"
#include "fairlead/local/gpu_watch.h"
#include "fairlead/local/host_room.h"
#include "fairlead/local/machine.h"
#include "fairlead/local/references.h"
#include "fairlead/local/start_conditions.h"
#include "fairlead/local/submission.h"
#include "fairlead/measure/sensors.h"

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <vector>

namespace fairlead {

// The journal's records of the tasks that a daemon finds when it starts.
class TaskHistory : public RecordSink {
 public:
  TaskHistory(FirstGpus first, std::span<const TaskStatus> tasks);
  void on(const Record& record) override;
  // Returns the GPUs given to a task; none: the journal does not know the task.
  std::span<const std::uint32_t> gpus_of(TaskId task) const;

 private:
  const FirstGpus first_;
  std::map<TaskId, std::vector<std::uint32_t>> gpus_;
  IdVector<JobId, RunId> runs_;  // so far
};

class LocalBackend : public RecordSink {
 public:
  // `grace`: from SIGTERM to SIGKILL. `hook`: the folder of the hook for the jobs' Python processes (python/hook);
  // empty: they start without it. The arguments must outlive the backend.
  LocalBackend(Io& io, const Tables& tables, const Machine& machine, Duration grace, Inbox& inbox,
               StartConditions& conditions, std::string hook = {});

  // Adds a job from before the daemon's start, with the number of its tasks that were started. A job that is done may
  // have processes.
  void add(JobId job, Submission submission, std::uint32_t starts);
  // Adds a new job of a client whose connection is open as long as its terminal.
  void add_new(const JobSpec& asked, Submission submission, ConnectionId client);
  const Submission* submission(JobId job) const;

  // Returns the sensors of a job's task, valid until the next call; null: it has no task.
  const Sensors* sensors(JobId job) const;

  // Notes which jobs are done, held or released.
  void on(const Record& record) override;
  // Fills in the speeds of gangs that were measured before.
  void expect(std::span<Step> steps) const;
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
  const Status& disk() const { return disk_; }
  const FirstGpus& first_gpus() const { return first_gpus_; }
  const GpuWatch& gpus() const { return gpus_; }
  GpuWatch& gpus() { return gpus_; }
  // Returns the GPUs of a node that a start of the job should get last: another job's task is leaving them, tasks failed
  // at once on them, or it does not fit beside the jobs there.
  std::uint64_t last_choice(JobId job, NodeId node) const;
  // Returns the time for which a running job has left all of its GPUs idle. Zero: less than ten minutes, or unknown.
  Duration idle(JobId job, Time now) const;

 private:
  enum class State : std::uint8_t { kRunning, kFrozen, kLeaving };
  struct Task {
    TaskId id;
    State state = State::kRunning;
    std::vector<std::uint32_t> gpus;
    // Its start, while it may still fail at once; never: it was good, or another daemon started it.
    Time began = Time::never();
    Time deadline = Time::never();  // while it leaves
    RunId stopped_run = 0;          // the run that is over once the task has left; 0: none
    bool works = true;              // on its GPUs
    Sensors sensors{};
    double told_rate = 0;             // reported to the engine; 0: none
    bool told_profile = false;        // to the engine
    Time idle_since = Time::never();  // its GPUs were idle at each look from then on
  };
  struct Start {
    RunId run = 0;
    std::vector<std::uint32_t> gpus;
    Time since;
    bool is_refused = false;  // a GPU is not usable, and the engine knows
  };
  struct Job {
    Submission what;
    ConnectionId terminal =
        0;  // the client with its terminal or input; 0: gone with the previous daemon
    std::optional<Task> task;
    std::optional<Start> start;  // due once the GPUs are free
    RunId run = 0;               // the last placed run
    RunId stopped = 0;           // the last stopped run
    std::uint32_t starts = 0;
    std::optional<Progress>
        left_at;             // progress of the last task when it left; none: compared, or unknown
    bool has_ended = false;  // its end was reported to the engine
  };

  void stop(Time now, JobId id, RunId run, bool moves);
  void freeze(Time now, Job& job, RunId run);
  void leave(Time now, Task& task, RunId stopped_run);
  void say_stopped(JobId job, RunId run);
  void find(Time now, const TaskStatus& status, const TaskHistory& history);
  void take_up(Time now, JobId id, Job& job);
  bool make_room(Time now, JobId id, Job& job);
  void start_all_due(Time now);
  // False: its GPUs are not free yet.
  bool start_due(Time now, JobId id, Job& job);
  Status begin_task(JobId id, Job& job);
  void fail_start(JobId id, Job& job, const Error& error);
  std::vector<std::string> environment(JobId id, const Job& job) const;
  bool are_free(std::span<const std::uint32_t> gpus, JobId for_job) const;
  void set_works(Time now, JobId id, Task& task, bool works);
  void note_load(Time now);
  GpuBlame::Try try_of(JobId id, const Task& task) const;
  void look(Time now);
  void look_at(Time now, JobId id, Job& job);
  void conclude(Time now, const Task& of, Job& job, TaskEnd end);
  bool retry(TaskId task, Submission& what);
  void begin_again(JobId id, Job& job);
  Time limit_at(JobId id) const;
  void end_overlong(Time instant);
  void remove(JobId id);

  Io& io_;
  const Tables& tables_;
  const Machine& machine_;
  const Duration grace_;
  Inbox& inbox_;
  StartConditions& conditions_;
  const std::string hook_;
  std::map<JobId, Job> jobs_;  // that are not done, or whose task has not left yet
  std::vector<JobId> due_;     // have a start, in order
  std::vector<JobId> done_;    // since the last retire()
  std::vector<TaskId> ended_;  // the same
  std::vector<JobId> leaving_;
  References references_;
  Time next_look_;
  const FirstGpus first_gpus_;
  GpuWatch gpus_;
  // By GPU of the machine: the jobs with a task that works on it. Several, if a daemon found them so: of two tasks that
  // leave it cannot know which was frozen before.
  std::vector<std::vector<JobId>> works_on_;
  GpuRoom room_;
  HostRoom host_room_;
  Status disk_;
};

// "exit code 3", "signal 9".
std::string end_text(TaskEnd end);
inline bool is_bad(TaskEnd end) { return end.code != 0 || end.signal != 0; }

}  // namespace fairlead
