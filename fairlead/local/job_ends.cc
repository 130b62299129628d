#include "fairlead/local/job_ends.h"

#include "fairlead/base/time_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>

namespace fairlead {
namespace {

bool is_bad(TaskEnd end) { return end.code != 0 || end.signal != 0; }

// "exit code 3", "signal 9".
std::string end_text(TaskEnd end) {
  if (end.signal != 0) return fmt::format("signal {}", end.signal);
  return fmt::format("exit code {}", end.code);
}

std::string reason_text(TaskEnd end, const Submission& what) {
  std::string text = end_text(end);
  if (!end.has_no_memory) return text;
  return what.memory_mb == 0 ? text + ": the machine had too little memory"
                             : fmt::format("{}: it needed more than its {:g} GB of memory (--mem)",
                                           text, what.memory_mb / 1000.0);
}

}  // namespace

void JobEnds::on_task_ended(Time now, const LocalTask& task, LocalJob& job, TaskEnd end) {
  const bool is_again = !end.is_known || (is_bad(end) && retry(task.id, job.what));
  if (task.gpus.empty()) {
    // No GPU is to blame.
  } else if (end.is_known && !is_bad(end)) {
    gpus_.on_good(try_of(tables_, task));
  } else if (end.is_known && !end.has_no_memory && task.began != Time::never() &&
             now - task.began < kAtOnce) {
    gpus_.on_failed_at_once(now, try_of(tables_, task), end_text(end), is_again);
  }
  if (task.works) gpus_.refuse(task.gpus);
  if (is_again) return begin_again(task.id.job, job);
  job.has_ended = true;
  inbox_.add({.kind = is_bad(end) ? EventKind::kFailed : EventKind::kFinished,
              .job = task.id.job,
              .run = job.run,
              .reason = is_bad(end) ? inbox_.keep(reason_text(end, job.what)) : ""});
}

bool JobEnds::retry(TaskId task, Submission& what) {
  if (std::ranges::find(what.failed, task.run) != what.failed.end()) return true;  // known already
  if (what.retries_left() == 0) return false;
  what.failed.push_back(task.run);
  jobs_.write(task.job, what);
  return true;
}

// A job without a task starts another one when it is placed next; here, if its start is due.
void JobEnds::begin_again(JobId id, LocalJob& job) {
  if (job.start || tables_.jobs.state[id] != JobState::kRunning) return;
  job.has_ended = true;
  inbox_.add({.kind = EventKind::kEvicted, .job = id, .run = job.run});
}

// Returns the time at which a running job reaches its time limit.
Time JobEnds::limit_at(JobId id) const {
  const Submission* const what = jobs_.submission(id);
  if (what == nullptr || what->limit.ms == 0) return Time::never();
  const Jobs& jobs = tables_.jobs;
  // The time of a job without GPUs counts as if it had one.
  const std::int64_t gpus = std::max(1U, jobs.allocated_gpus[id]);
  const GpuTime left =
      occupancy(what->limit, std::max(1U, jobs.gpus[id])) - jobs.attained_settled[id];
  return jobs.run_since[id] + Duration{static_cast<std::int64_t>((left.gpu_ms + gpus - 1) / gpus)};
}

Time JobEnds::deadline() const {
  Time next = Time::never();
  for (const JobSet* jobs : {&tables_.running, &tables_.running_without_gpus}) {
    for (JobId id : jobs->members()) next = std::min(next, limit_at(id));
  }
  return next;
}

void JobEnds::on_time(Time instant) {
  for (const JobSet* jobs : {&tables_.running, &tables_.running_without_gpus}) {
    for (JobId id : jobs->members()) {
      if (instant >= limit_at(id)) end_at_limit(id);
    }
  }
}

void JobEnds::end_at_limit(JobId id) {
  LocalJob& job = jobs_.at(id);
  job.has_ended = true;
  const std::string limit = span_text(job.what.limit.ms);
  inbox_.add({.kind = EventKind::kFailed,
              .job = id,
              .run = tables_.jobs.run[id],
              .reason = inbox_.keep(fmt::format("time limit of {} reached", limit))});
}

}  // namespace fairlead
