// How a daemon takes over the tasks that it finds.

#include "fairlead/local/local_backend.h"

#include <algorithm>
#include <set>
#include <utility>

namespace fairlead {

TaskHistory::TaskHistory(FirstGpus first, std::span<const TaskStatus> tasks)
    : first_(std::move(first)) {
  for (const TaskStatus& task : tasks) gpus_.emplace(task.id, std::vector<std::uint32_t>());
}

void TaskHistory::on(const Record& record) {
  const auto* place = std::get_if<record::Place>(&record.what);
  if (place == nullptr) return;
  RunId& run = runs_.grow_to(place->job);
  if (place->copy == 0) ++run;
  const auto found = gpus_.find({place->job, run});
  if (found == gpus_.end()) return;
  const auto gpus = machine_gpus(first_, place->gang, place->gpu_masks);
  found->second.insert(found->second.end(), gpus.begin(), gpus.end());
}

std::span<const std::uint32_t> TaskHistory::gpus_of(TaskId task) const {
  const auto found = gpus_.find(task);
  if (found == gpus_.end()) return {};
  return found->second;
}

namespace {

// Returns tasks that ended before a later task of their job started. The daemon had only not forgotten them yet.
std::set<TaskId> past_tasks(std::span<const TaskStatus> tasks) {
  std::set<TaskId> past;
  for (const TaskStatus& task : tasks) {
    const bool has_later = std::ranges::any_of(tasks, [&](const TaskStatus& other) {
      return other.id.job == task.id.job && other.id.run > task.id.run;
    });
    if (task.state == TaskStatus::State::kEnded && has_later) past.insert(task.id);
  }
  return past;
}

}  // namespace

void LocalBackend::adopt(Time now, std::span<const TaskStatus> tasks, const TaskHistory& history) {
  for (auto& [id, job] : jobs_) job.run = tables_.jobs.run[id];
  gpus_.look(now);  // before any task starts
  room_.set_report(gpus_.memory());
  if (!conditions_.disk()) disk_ = conditions_.disk();
  const std::set<TaskId> past = past_tasks(tasks);
  for (const bool was_interrupted : {false, true}) {
    for (const TaskStatus& task : tasks) {
      if (task.was_interrupted == was_interrupted && !past.contains(task.id)) {
        find(now, task, history);
      }
    }
  }
  for (const TaskStatus& task : tasks) {
    if (task.state == TaskStatus::State::kEnded) on_task_ended(now, task.id, task.end);
  }
  for (auto& [id, job] : jobs_) take_up(now, id, job);
  for (const auto& [run, busy] : tables_.stopping) {
    const auto job = jobs_.find(run.first);
    if (job != jobs_.end() && job->second.task && job->second.task->works) {
      job->second.task->stopped_run = run.second;
    } else {
      say_stopped(run.first, run.second);
    }
  }
  for (const auto& [id, job] : jobs_) {
    if (job.task) host_room_.come(id);
  }
  start_all_due(now);
}

// Takes over a found task.
void LocalBackend::find(Time now, const TaskStatus& status, const TaskHistory& history) {
  const auto found = jobs_.find(status.id.job);
  const auto gpus = history.gpus_of(status.id);
  const bool has_ended = status.state == TaskStatus::State::kEnded;
  if (gpus.empty() || (found != jobs_.end() && found->second.task)) {  // not ours
    if (!has_ended) io_.kill(status.id);
    return;
  }
  // The task of a finished job has its GPUs until it has left.
  Job& job = jobs_[status.id.job];
  job.task = {.id = status.id, .gpus = {gpus.begin(), gpus.end()}, .works = false};
  if (!has_ended) room_.come(status.id.job, gpus);
  if (status.state == TaskStatus::State::kFrozen) job.task->state = State::kFrozen;
  const bool is_running = status.state == TaskStatus::State::kRunning;
  if (is_running && (status.was_interrupted || are_free(gpus, status.id.job))) {
    set_works(now, status.id.job, *job.task, true);
  }
  if (!status.was_interrupted && tables_.jobs.is_here(status.id.job)) return;
  if (has_ended) {
    job.task->state = State::kLeaving;
  } else {
    leave(now, *job.task, 0);
  }
}

// Takes over a job that is here, and its task, if one was found. If the job is running without a task and without a
// recorded end, its task has ended.
void LocalBackend::take_up(Time now, JobId id, Job& job) {
  if (job.has_ended || !tables_.jobs.is_here(id)) return;
  const Jobs& jobs = tables_.jobs;
  const bool works = job.task && job.task->works && job.task->state == State::kRunning;
  if (jobs.state[id] != JobState::kRunning) {
    if (works) freeze(now, job, 0);
    return;
  }
  auto gpus = machine_gpus(first_gpus_, jobs.last_gang(id), jobs.gangs.gpu_masks(jobs.last[id]));
  if (works && job.task->gpus == gpus) {
    if (!jobs.is_starting(id)) return;
    inbox_.add({.kind = EventKind::kStarted, .job = id, .run = job.run});
    return;
  }
  if (!jobs.is_starting(id) &&
      !job.task) {  // lost with the machine, or its end was reported already
    inbox_.add({.kind = EventKind::kEvicted, .job = id, .run = job.run});
    return;
  }
  if (works) leave(now, *job.task, 0);
  job.start = {job.run, std::move(gpus), now};
  due_.push_back(id);
}

}  // namespace fairlead
