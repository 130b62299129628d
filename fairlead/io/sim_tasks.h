// The processes of a SimIo's machine. How a task behaves is the command of its job:
//
//   work MS [exit=N [times=N]] [term=checkpoint:MS|forget|ignore|die] [every=MS] [hang] [brittle]
//           [nostart=N] [retries=N] [broken=GPU] [power=P] [silent|mute] [gradients=KB]
//
// It works for MS of running time, summed over all tasks of its job, and ends with the code N; with `times`, only that
// often, and then with 0. If asked to end, it writes a checkpoint for some milliseconds and ends by the signal, ignores
// the request, or dies immediately; `forget`: by its handler, but without a checkpoint. It also writes a checkpoint after
// each period of work; the next task of the job continues from the last one. A hanging task never ends by itself; a
// brittle one dies if it is frozen for long; the first N starts of the job fail. `retries` is the number of times that
// a daemon may start the job again after a task ended badly. On a broken GPU it ends with code 1 after 100 ms. It works
// as fast as its GPUs: at FAIRLEAD_SPEED to the power of P hundredths (0). It reports its progress, or, if it is silent,
// the hook counts its steps, and sees gradients of so many kB, half of them in one tensor, and a worker with a batch of
// its own for each GPU. Nothing measures a mute one.
//
// It is also the truth by which a daemon is judged: the living tasks and their GPUs.
//
// Costs: O(log tasks) a call; statuses() O(tasks).
#pragma once

#include "fairlead/base/result.h"
#include "fairlead/base/rng.h"
#include "fairlead/io/io.h"

#include <cstdint>
#include <map>
#include <optional>
#include <queue>
#include <set>
#include <string>
#include <vector>

namespace fairlead {

struct SimWork {
  enum class OnTerm : std::uint8_t { kCheckpoint, kIgnore, kDie, kForget };
  static constexpr std::uint32_t kAlways = ~std::uint32_t{0};
  Duration work = seconds(1);
  Duration every = seconds(10);
  OnTerm on_term = OnTerm::kDie;
  Duration checkpoint{};  // to write one when it is asked to end
  int code = 0;
  std::uint32_t times = kAlways;  // with that code
  std::uint32_t retries = 0;
  bool hangs = false;
  bool is_brittle = false;
  std::uint32_t failing_starts = 0;
  std::optional<std::uint32_t> broken{};
  std::int64_t power = 0;  // hundredths
  bool is_silent = false;
  bool is_mute = false;
  std::int64_t gradients_kb = 0;

  // A command that is none of the above is work of a second that dies when it is asked to end.
  static SimWork of(const std::vector<std::string>& command);
  std::vector<std::string> command() const;
};

struct SimTask {
  using State = TaskStatus::State;
  TaskId id;
  std::uint32_t uid = 0;
  std::vector<std::uint32_t> gpus;
  SimWork work;
  double speed = 1;
  State state = State::kRunning;
  TaskEnd end{};
  bool is_interrupted = false;
  bool left_frozen = false;  // it was interrupted while it was frozen
  bool is_killed = false;
  bool ended_badly = false;  // without being asked to end
  Time began;                // or was thawed last; or frozen, if it is frozen
  Duration done;             // work of its job done up to then
  Time due;                  // when the next thing happens to it by itself
  bool is_alive() const { return state != State::kEnded; }
  bool is_thawed() const { return state == State::kRunning; }
};

class SimTasks {
 public:
  explicit SimTasks(std::uint64_t seed) : rng_(seed) {}

  // The calls of a daemon, as in Io, at `now`, up to which advance() was called.
  Status start(Time now, const TaskSpec& spec);
  void freeze(Time now, TaskId id);
  void thaw(Time now, TaskId id);
  void interrupt(Time now, TaskId id);
  void kill(Time now, TaskId id);
  // Counts a start or a thaw that failed for another reason than its command.
  void note_failed_start(JobId job) { ++failed_starts_[job]; }
  std::vector<TaskStatus> statuses() const;
  void forget(TaskId id);
  // "DONE TOTAL", in milliseconds of work; empty: nothing was written yet.
  std::string progress(Time now, TaskId id) const;

  // When something happens by itself; never: nothing will.
  Time next();
  // Runs all events up to `now`; adds the tasks that ended to `ended`.
  void advance(Time now, std::vector<TaskId>& ended);
  // Ends all running tasks with an unknown end; the ends of ended tasks may be lost too, and every trace of a task.
  void lose_power(Time now);
  // The task ends just now, of itself, if its work will be done within `soon`.
  void end_early(Time now, TaskId id, Duration soon, std::vector<TaskId>& ended);

  const std::map<TaskId, SimTask>& all() const { return tasks_; }  // that were not forgotten
  const SimTask* find(TaskId id) const;
  std::size_t started() const { return names_.size(); }
  // Returns whether all work of the job was done, with a good end.
  bool is_done(JobId job) const { return done_jobs_.contains(job); }
  // Returns whether more tasks of the job have ended badly, without being asked to end, than may be retried.
  bool has_failed(JobId job) const { return failed_jobs_.contains(job); }
  std::uint32_t failed_starts(JobId job) const;
  // Errors of a daemon: it started a name twice, or a second task of a job, or a task of a job that has ended by
  // itself; or it killed a task that it had not asked to end, except one of no user.
  const std::vector<std::string>& problems() const { return problems_; }
  void note_problem(std::string what) { problems_.push_back(std::move(what)); }

 private:
  SimTask* living(TaskId id);
  void plan(SimTask& task, Time due);
  // The running time of its work is counted up to `now`.
  void settle(SimTask& task, Time now);
  void end(SimTask& task, Time now, TaskEnd how);
  void end_of_itself(SimTask& task, Time now);
  void note_end(SimTask& task, bool is_good);
  // When it ends by itself, if it goes on from `began`.
  static Time own_end(const SimTask& task);

  struct Due {
    Time at;
    TaskId task;
    friend auto operator<=>(const Due&, const Due&) = default;
  };
  std::map<TaskId, SimTask> tasks_;
  std::map<JobId, Duration> kept_;  // work of a job up to its last checkpoint
  std::map<JobId, std::uint32_t> tries_;
  std::set<TaskId> names_;
  std::map<JobId, std::uint32_t> failed_starts_;
  std::set<JobId> done_jobs_;
  std::set<JobId> failed_jobs_;
  std::set<JobId> ended_jobs_;                // jobs that are known to have ended for good
  std::map<JobId, std::uint32_t> bad_ends_;   // ends that no daemon asked for
  std::map<JobId, std::uint32_t> lost_ends_;  // bad ends that were lost with the power
  std::priority_queue<Due, std::vector<Due>, std::greater<>> dues_;  // some are out of date
  std::vector<std::string> problems_;
  Rng rng_;
};

}  // namespace fairlead
