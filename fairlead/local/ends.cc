// The ends of jobs: by their tasks, and by their time limits.

#include "fairlead/base/time_text.h"
#include "fairlead/local/local_backend.h"

#include <algorithm>
#include <utility>

namespace fairlead {

std::string end_text(TaskEnd end) {
  if (end.signal != 0) return fmt::format("signal {}", end.signal);
  return fmt::format("exit code {}", end.code);
}

namespace {

std::string reason_text(TaskEnd end, const Submission& what) {
  std::string text = end_text(end);
  if (!end.has_no_memory) return text;
  return what.memory_mb == 0 ? text + ": the machine had too little memory"
                             : fmt::format("{}: it needed more than its {:g} GB of memory (--mem)",
                                           text, what.memory_mb / 1000.0);
}

}  // namespace

void LocalBackend::on_task_ended(Time now, TaskId id, TaskEnd end) {
  ended_.push_back(id);
  const auto found = jobs_.find(id.job);
  if (found == jobs_.end() || !found->second.task || found->second.task->id != id) return;
  Job& job = found->second;
  const Task task = *job.task;
  if (task.works) set_works(now, id.job, *job.task, false);
  job.task.reset();
  room_.leave(id.job);
  host_room_.leave(id.job);
  const bool is_leaving = task.state == State::kLeaving;
  if (is_leaving) std::erase(leaving_, id.job);
  if (task.stopped_run != 0) say_stopped(id.job, task.stopped_run);
  // A task may have ended by itself just before it was asked to leave.
  const bool has_left = is_leaving && (end.was_asked || !end.is_known);
  job.left_at = has_left ? task.sensors.of_job() : std::nullopt;
  if (!has_left && tables_.jobs.is_here(id.job)) conclude(now, task, job, end);
  if (!tables_.jobs.is_here(id.job)) remove(id.job);
  start_all_due(now);
}

// Handles the unrequested end of the task of a job that is here.
void LocalBackend::conclude(Time now, const Task& of, Job& job, TaskEnd end) {
  const TaskId task = of.id;
  const bool is_again = !end.is_known || (is_bad(end) && retry(task, job.what));
  if (end.is_known && !is_bad(end)) {
    gpus_.on_good(try_of(task.job, of));
  } else if (end.is_known && !end.has_no_memory && of.began != Time::never() &&
             now - of.began < kAtOnce) {
    gpus_.on_failed_at_once(now, try_of(task.job, of), end_text(end), is_again);
  }
  if (of.works) gpus_.refuse(of.gpus);
  if (is_again) return begin_again(task.job, job);
  job.has_ended = true;
  inbox_.add({.kind = is_bad(end) ? EventKind::kFailed : EventKind::kFinished,
              .job = task.job,
              .run = job.run,
              .reason = is_bad(end) ? inbox_.keep(reason_text(end, job.what)) : ""});
}

bool LocalBackend::retry(TaskId task, Submission& what) {
  if (std::ranges::find(what.failed, task.run) != what.failed.end()) return true;  // known already
  if (what.retries_left() == 0) return false;
  what.failed.push_back(task.run);
  const Status status = io_.write(submission_file(task.job), submission_text(what));
  if (!status) disk_ = status;
  return true;
}

// A job without a task starts another one when it is placed next; here, if its start is due.
void LocalBackend::begin_again(JobId id, Job& job) {
  if (job.start || tables_.jobs.state[id] != JobState::kRunning) return;
  job.has_ended = true;
  inbox_.add({.kind = EventKind::kEvicted, .job = id, .run = job.run});
}

// Returns the time at which a job with a gang reaches its time limit.
Time LocalBackend::limit_at(JobId id) const {
  const auto job = jobs_.find(id);
  if (job == jobs_.end() || job->second.what.limit.ms == 0) return Time::never();
  const Jobs& jobs = tables_.jobs;
  const std::int64_t gpus = jobs.allocated_gpus[id];
  const GpuTime left = occupancy(job->second.what.limit, jobs.gpus[id]) - jobs.attained_settled[id];
  return jobs.run_since[id] + Duration{static_cast<std::int64_t>((left.gpu_ms + gpus - 1) / gpus)};
}

void LocalBackend::end_overlong(Time instant) {
  for (JobId id : tables_.running.members()) {
    if (instant < limit_at(id)) continue;
    Job& job = jobs_.at(id);
    job.has_ended = true;
    const std::string limit = span_text(job.what.limit.ms);
    inbox_.add({.kind = EventKind::kFailed,
                .job = id,
                .run = tables_.jobs.run[id],
                .reason = inbox_.keep(fmt::format("time limit of {} reached", limit))});
  }
}

}  // namespace fairlead
