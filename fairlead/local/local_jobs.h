// The jobs of this machine and their tasks: the task of each job, its state, and the GPUs on which it works.
//
// A job has at most one task. It stays here until it is done and its task has left. Source: ours.
#pragma once

#include "fairlead/engine/tables.h"
#include "fairlead/io/io.h"
#include "fairlead/local/gpu_blame.h"
#include "fairlead/local/submission.h"
#include "fairlead/measure/sensors.h"

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

namespace fairlead {

struct LocalTask {
  enum class State : std::uint8_t { kRunning, kFrozen, kLeaving };
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

struct LocalJob {
  struct Start {
    RunId run = 0;
    std::vector<std::uint32_t> gpus;
    Time since;
    bool is_refused = false;  // a GPU is not usable, and the engine knows
  };
  Submission what;
  ConnectionId terminal =
      0;  // the client with its terminal or input; 0: gone with the previous daemon
  std::optional<LocalTask> task;
  std::optional<Start> start;  // due once the GPUs are free
  RunId run = 0;               // the last placed run
  RunId stopped = 0;           // the last stopped run
  std::uint32_t starts = 0;
  std::optional<Progress>
      left_at;             // progress of the last task when it left; none: compared, or unknown
  bool has_ended = false;  // its end was reported to the engine
};

// Returns the facts of a task by which its end judges its GPUs.
GpuBlame::Try try_of(const Tables& tables, const LocalTask& task);

class LocalJobs {
 public:
  // `grace`: from SIGTERM to SIGKILL. `gpus`: the number of GPUs of the machine. REQUIRES: `io` outlives this.
  LocalJobs(Io& io, Duration grace, std::uint32_t gpus) : io_(io), grace_(grace), works_on_(gpus) {}

  // Returns the job, which is added if it is not here. O(log jobs), like the next five.
  LocalJob& operator[](JobId job) { return jobs_[job]; }
  // REQUIRES: the job is here.
  LocalJob& at(JobId job) { return jobs_.at(job); }
  // Returns null if there is no such job.
  LocalJob* find(JobId job);
  const Submission* submission(JobId job) const;
  // Returns null if the job has no task; the result is valid as long as the task.
  const LocalTask* task_of(JobId job) const;
  LocalTask* task_of(JobId job);
  std::map<JobId, LocalJob>& all() { return jobs_; }
  void erase(JobId job) { jobs_.erase(job); }
  // Writes the file of the job's submission. disk() has the error.
  void write(JobId job, const Submission& what);
  // Returns an error if a file could not be written.
  const Status& disk() const { return disk_; }

  // Notes that a task works on its GPUs, or no longer does.
  void set_works(Time now, LocalTask& task, bool works);
  // Returns the jobs with a task that works on the GPU. Several, if a daemon found them so: of two tasks that leave it
  // cannot know which was frozen before.
  std::span<const JobId> working_on(std::uint32_t gpu) const { return works_on_[gpu]; }
  // Returns whether no task of another job works on these GPUs.
  bool are_free(std::span<const std::uint32_t> gpus, JobId for_job) const;

  // Makes a task leave: asks it to write a checkpoint and end, and kills it once its grace is over. `stopped_run`:
  // LocalTask::stopped_run.
  void leave(Time now, LocalTask& task, RunId stopped_run);
  // Returns whether the job's task was made to leave and has not ended. O(leaving tasks).
  bool is_leaving(JobId job) const;
  // Removes and returns the task of a job, because it has ended. REQUIRES: the job has a task.
  LocalTask take_task(Time now, LocalJob& job);
  // Kills the tasks whose grace is over. O(leaving tasks).
  void on_time(Time now);
  // Returns the time of the next on_time(). O(leaving tasks).
  Time deadline() const;

 private:
  Io& io_;
  const Duration grace_;
  std::map<JobId, LocalJob> jobs_;
  std::vector<std::vector<JobId>> works_on_;  // by GPU of the machine
  std::vector<JobId> leaving_;
  Status disk_;
};

}  // namespace fairlead
