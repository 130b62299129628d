#include "fairlead/local/task_launcher.h"

#include "fairlead/local/task_environment.h"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace fairlead {

void TaskLauncher::add(JobId id, LocalJob& job, LocalJob::Start start) {
  job.start = std::move(start);
  due_.push_back(id);
}

void TaskLauncher::withdraw(JobId id, LocalJob& job) {
  if (!job.start) return;
  job.start.reset();
  std::erase(due_, id);
}

void TaskLauncher::start_all_due(Time now) {
  std::erase_if(due_, [&](JobId id) { return start_due(now, id, jobs_.at(id)); });
}

bool TaskLauncher::start_due(Time now, JobId id, LocalJob& job) {
  const LocalJob::Start& start = *job.start;
  if (job.has_ended) return false;
  if (job.task && job.task->state != LocalTask::State::kFrozen) return false;
  if (job.task && job.task->gpus != start.gpus) {
    jobs_.leave(now, *job.task, 0);
    return false;
  }
  if (!jobs_.are_free(start.gpus, id)) return false;
  if (start.is_refused) return false;
  if (!gpus_.are_usable(start.gpus)) {  // the engine takes the start back
    job.start->is_refused = true;
    gpus_.refuse(start.gpus);
    return false;
  }
  if (!job.task && !make_room(now, id, job)) return !job.start;
  const Status status = job.task ? io_.thaw(job.task->id) : begin_task(id, job);
  if (status) {
    job.task->state = LocalTask::State::kRunning;
    jobs_.set_works(now, *job.task, true);
    inbox_.add(
        {.kind = EventKind::kStarted, .job = id, .run = start.run, .overhead = now - start.since});
  } else {
    fail_start(id, job, status.error());
  }
  job.start.reset();
  return true;
}

// Returns whether the job fits into the machine, and on the GPUs of its start. If not, jobs that can save their work are
// leaving the GPUs, or the start is given back, because a job that stays is in the way.
bool TaskLauncher::make_room(Time now, JobId id, LocalJob& job) {
  const auto give_back = [&] {
    job.has_ended = true;
    inbox_.add({.kind = EventKind::kEvicted, .job = id, .run = job.start->run});
    job.start.reset();
    return false;
  };
  if (!room_.host.fits(id)) return give_back();  // another job has started since it was released
  const std::vector<std::uint32_t>& gpus = job.start->gpus;
  if (room_.gpus.fits(id, gpus)) return true;
  if (!gpus_.has_looked_at(now)) {  // jobs may have ended since the last report
    gpus_.look(now);
    room_.gpus.set_report(gpus_.memory());
    if (room_.gpus.fits(id, gpus)) return true;
  }
  const auto leavers = room_.gpus.leavers(now, id, gpus, [&](JobId other) {
    const LocalTask* const task = jobs_.task_of(other);
    return task != nullptr &&
           (task->state == LocalTask::State::kLeaving || !tables_.jobs.keeps_no_work(other));
  });
  for (const JobId other : leavers) {
    LocalTask& task = *jobs_.task_of(other);
    if (task.state == LocalTask::State::kFrozen) jobs_.leave(now, task, 0);
  }
  return leavers.empty() ? give_back() : false;
}

// A command that cannot run has ended badly. The machine's troubles may pass, so the engine tries again later, except
// at a terminal: there the user decides.
void TaskLauncher::fail_start(JobId id, LocalJob& job, const Error& error) {
  const RunId run = job.start->run;
  EventKind kind = EventKind::kStartFailed;
  if (!job.task && error.kind == Error::Kind::kInput) {
    kind = ends_.retry({id, run}, job.what) ? EventKind::kEvicted : EventKind::kFailed;
  } else if (!job.task && job.what.has_terminal) {
    kind = EventKind::kFailed;
  }
  job.has_ended = kind != EventKind::kStartFailed;
  inbox_.add({.kind = kind, .job = id, .run = run, .reason = inbox_.keep(error.message)});
}

Status TaskLauncher::begin_task(JobId id, LocalJob& job) {
  const TaskId task{id, job.start->run};
  if (job.what.has_terminal && job.terminal == 0)
    return run_error("its terminal is gone: the daemon restarted after the job was submitted");
  const bool has_input = job.what.has_input && job.starts == 0;
  if (has_input && job.terminal == 0)
    return input_error(
        "exit code 126: its standard input is gone: the daemon restarted before the job started");
  TaskSpec spec{.id = task,
                .uid = job.what.uid,
                .gid = job.what.gid,
                .command = job.what.command,
                .environment = task_environment(io_, tables_, machine_, hook_, id, job),
                .folder = job.what.folder,
                .umask = job.what.umask,
                .gpus = job.start->gpus,
                .processes = job.what.processes,
                .terminal = job.what.has_terminal ? job.terminal : 0,
                .input = has_input ? job.terminal : 0,
                .limits = job.what.limits,
                .memory_mb = job.what.memory_mb,
                .cpu_milli = job.what.cpu_milli};
  for (std::uint32_t gpu = 0; gpu < machine_.gpu_names.size(); ++gpu) {
    if (std::ranges::find(spec.gpus, gpu) == spec.gpus.end())
      spec.other_gpus.push_back(machine_.gpu_names[gpu]);
  }
  FL_TRY(io_.start(spec));
  ++job.starts;
  job.task = {.id = task, .gpus = job.start->gpus, .began = io_.now(), .works = false};
  room_.come(id, job.task->gpus);
  return {};
}

}  // namespace fairlead
