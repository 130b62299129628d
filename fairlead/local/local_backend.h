// Real jobs on one machine: what the engine plans becomes tasks of an Io, and what becomes of tasks
// becomes events.
//
// Of each job there is at most one task. A stop freezes it, and a place on the same GPUs thaws it. A
// place on others makes it leave first: it is asked to write a checkpoint and end (SIGTERM), and is
// killed when its grace is over; then a new task of the job begins, which takes the checkpoint up. A
// task that was frozen leaves beside the one that has its GPUs now, as only it can write its state.
// A gang starts, or goes on, once no other task works on its GPUs.
//
// A task that ends by itself ends its job; one that was told to leave does not, however it ends,
// unless it had ended before it was told. One that ends badly is followed by another where its job
// may be retried: the engine is told that the job has lost its gang, and places it again, so that the
// next task has a name of its own. What was retried is in the job's file before, so that no crash
// gives a job another retry.
//
// A job that has had GPUs for as long as its limit says has failed, and its task leaves. How long that
// is follows from the tables.
//
// A job that trains as copies (HadarE) is one task with the GPUs of all of them: it is told which
// GPUs are which copy's (FAIRLEAD_COPIES) and has its own tracker (copies/tracker.h).
//
// Every few seconds the GPUs are looked at. One on which a process computes that belongs to no task is
// down for the engine while that lasts, unless a job has it already: that stays, and no other comes
// after it.
//
// Jobs that tell how far they are (FAIRLEAD_PROGRESS) are measured. The first speed that is measured
// for a user's model, per GPU, is what its speeds are relative to from then on; it is kept in the
// folder. Of a job that tells nothing, no speed is known, and nothing is assumed.
//
// Nothing else here is remembered but in the journal and by the machine: after a crash, adopt() brings
// the tasks that it finds to what the tables say.
#pragma once

#include "fairlead/engine/inbox.h"
#include "fairlead/engine/tables.h"
#include "fairlead/io/io.h"
#include "fairlead/journal/journal.h"
#include "fairlead/local/machine.h"
#include "fairlead/local/meter.h"
#include "fairlead/local/submission.h"

#include <map>
#include <optional>
#include <span>
#include <vector>

namespace fairlead {

// The GPUs of a machine are numbered through, node by node.
using FirstGpus = IdVector<NodeId, std::uint32_t>;  // of each node; last, how many there are
FirstGpus first_gpus(const Cluster& cluster);
std::vector<std::uint32_t> machine_gpus(const FirstGpus& first, Gang gang,
                                        std::span<const std::uint64_t> gpu_masks);

// What the journal says of the tasks that a daemon finds when it starts.
class TaskHistory : public RecordSink {
 public:
  TaskHistory(FirstGpus first, std::span<const TaskStatus> tasks);
  void on(const Record& record) override;
  // The GPUs that it was given; none: the journal does not know of it.
  std::span<const std::uint32_t> gpus_of(TaskId task) const;

 private:
  const FirstGpus first_;
  std::map<TaskId, std::vector<std::uint32_t>> gpus_;
  IdVector<JobId, HoldId> holds_;  // so far
};

class LocalBackend : public RecordSink {
 public:
  // `grace`: from SIGTERM to SIGKILL. What is passed must outlive it.
  LocalBackend(Io& io, const Tables& tables, const Machine& machine, Duration grace, Inbox& inbox);

  // A job that came before the daemon did and of which so many tasks were started.
  void add(JobId job, Submission submission, std::uint32_t starts);
  // A job that comes, from a client whose connection is open as long as its terminal.
  void add_new(JobId job, Submission submission, ConnectionId client);
  const Submission* submission(JobId job) const;

  // What it has told of itself, if anything, and its speed in units per second; 0: not known yet.
  struct Told {
    Progress progress;
    double unit_per_s = 0;
  };
  std::optional<Told> told(JobId job) const;

  // Notes which jobs are done.
  void on(const Record& record) override;
  // Fills in the speeds of gangs that were measured before.
  void expect(std::span<Step> steps) const;
  // REQUIRES: the journal that has these steps is on the disk.
  void carry_out(Time now, std::span<const Step> steps);
  // Tasks of the jobs that are done leave, and of those that have ended nothing is left. REQUIRES:
  // the same of the journal that knows of it.
  void retire(Time now);
  // Brings the tasks that were found to what the tables say. REQUIRES: all jobs that are here were
  // added; called once, first.
  void adopt(Time now, std::span<const TaskStatus> tasks, const TaskHistory& history);

  void on_task_ended(Time now, TaskId task, TaskEnd end);
  // When on_time() is to be called: a task has had its grace, a job its time, or it is time to look
  // how far jobs are.
  Time deadline() const;
  // `instant`: that of what is said next, which may be a timer's that is noticed late.
  void on_time(Time now, Time instant);
  // Why the daemon must not go on, if so: what it has to know after a crash cannot be kept.
  const Status& disk() const { return disk_; }
  const FirstGpus& first_gpus() const { return first_gpus_; }
  // Processes on the GPUs that belong to no job, by GPU, as they were at the last look.
  std::span<const ForeignProcess> foreign() const { return foreign_; }
  // How long a job that runs has left all of its GPUs idle. Zero: not for ten minutes, or not known.
  Duration idle(JobId job, Time now) const;

 private:
  enum class State : std::uint8_t { kRunning, kFrozen, kLeaving };
  struct Task {
    TaskId id;
    State state = State::kRunning;
    std::vector<std::uint32_t> gpus;
    Time deadline = Time::never();  // while it leaves
    HoldId stopped_hold = 0;        // that is over once it has left; 0: none
    bool works = true;              // on its GPUs
    Meter meter;
    double told_rate = 0;             // to the engine; 0: none
    Time idle_since = Time::never();  // its GPUs were idle at each look from then on
  };
  struct Start {
    HoldId hold = 0;
    std::vector<std::uint32_t> gpus;
    Time since;
    bool is_refused = false;  // a foreign process is there, which the engine has been told
  };
  struct Job {
    Submission what;
    ConnectionId terminal = 0;  // that has its terminal; 0: gone with the daemon before
    std::optional<Task> task;
    std::optional<Start> start;  // that is due once the GPUs are free
    HoldId hold = 0;             // the last that was placed
    HoldId stopped = 0;          // the last that was stopped
    std::uint32_t starts = 0;
    bool has_ended = false;  // which the engine has been told
  };

  void stop(Time now, JobId id, HoldId hold, bool moves);
  void freeze(Time now, Job& job, HoldId hold);
  void leave(Time now, Task& task, HoldId stopped_hold);
  void say_stopped(JobId job, HoldId hold);
  void find(Time now, const TaskStatus& status, const TaskHistory& history);
  void take_up(Time now, JobId id, Job& job);
  void start_all_due(Time now);
  // False: its GPUs are not free yet.
  bool start_due(Time now, JobId id, Job& job);
  Status begin_task(JobId id, Job& job);
  std::vector<std::string> environment(JobId id, const Job& job) const;
  std::string copies_text(JobId id) const;
  bool are_free(std::span<const std::uint32_t> gpus, JobId for_job) const;
  void set_works(Time now, JobId id, Task& task, bool works);
  void look_at_gpus(Time now);
  void note_idle(Time now, std::span<const int> busy_percent);
  bool has_foreign(std::span<const std::uint32_t> gpus) const;
  // Takes those of these GPUs from the engine that have a foreign process.
  void say_foreign(std::span<const std::uint32_t> gpus);
  std::uint64_t foreign_mask(NodeId node) const;
  void look(Time now);
  void look_at(Time now, JobId id, Job& job);
  void read_references();
  // Units per second and GPU that are speed 1 for the job; `per_gpu`, where it is the first.
  double reference(JobId id, double per_gpu);
  void conclude(TaskId task, Job& job, TaskEnd end);
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
  std::map<JobId, Job> jobs_;  // that are not done, or whose task has not left yet
  std::vector<JobId> due_;     // have a start, in order
  std::vector<JobId> done_;    // since the last retire()
  std::vector<TaskId> ended_;  // the same
  std::vector<JobId> leaving_;
  std::map<std::string, double> references_;  // by user and model
  Time next_look_;
  Time next_gpu_look_;
  std::vector<ForeignProcess> foreign_;
  const FirstGpus first_gpus_;
  // By GPU of the machine: whose tasks do. Several, if a daemon found them so: of two that leave it
  // cannot know which was frozen before.
  std::vector<std::vector<JobId>> works_on_;
  Status disk_;
};

// "exit code 3", "signal 9".
std::string end_text(TaskEnd end);
inline bool is_bad(TaskEnd end) { return end.code != 0 || end.signal != 0; }

}  // namespace fairlead
