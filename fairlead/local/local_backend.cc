#include "fairlead/local/local_backend.h"

#include "fairlead/base/overloaded.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>
#include <variant>

namespace fairlead {
namespace {

HostRoom::Need host_need(const Submission& what, UserId user, bool has_gpus) {
  return {.memory_mb = what.memory_mb,
          .cpu_milli = what.cpu_milli,
          .has_gpus = has_gpus,
          .user = user,
          .priority = what.priority};
}

}  // namespace

LocalBackend::LocalBackend(Io& io, const Tables& tables, const Machine& machine, Duration grace,
                           Inbox& inbox, StartConditions& conditions, TaskLimits& limits,
                           std::string hook, OnForeign on_foreign)
    : io_(io),
      tables_(tables),
      inbox_(inbox),
      conditions_(conditions),
      first_gpus_(fairlead::first_gpus(machine.cluster)),
      jobs_(io, grace, machine.cluster.gpus),
      monitor_(io, tables, machine, jobs_, gpus_, inbox),
      gpus_(
          io, tables, machine, inbox,
          [this](TaskId id, std::uint32_t gpu) {
            const LocalTask* const task = jobs_.task_of(id.job);
            if (task == nullptr || task->id != id) return true;
            return std::ranges::find(task->gpus, gpu) != task->gpus.end();
          },
          on_foreign),
      room_{GpuRoom(tables, machine.cluster), HostRoom(tables, machine.host)},
      reservations_(io, tables, machine.cluster, jobs_, conditions, inbox, limits),
      ends_(tables, jobs_, gpus_, inbox),
      launcher_(io, tables, machine, jobs_, gpus_, room_, ends_, inbox, std::move(hook)) {}

void LocalBackend::add(JobId job, Submission submission, std::uint32_t starts) {
  LocalJob& made = jobs_[job] = {.what = std::move(submission), .starts = starts};
  const Jobs& jobs = tables_.jobs;
  room_.add(job, {jobs.gpus[job], jobs.types[job], made.what.gpu_memory_mb},
            host_need(made.what, jobs.user[job], tables_.needs_gpus(job)));
  if (!tables_.jobs.is_here(job)) return;
  conditions_.add(job, made.what);
}

void LocalBackend::add_new(const JobSpec& asked, Submission submission, ConnectionId client) {
  const bool needs_client = submission.has_terminal || submission.has_input;
  const ConnectionId terminal = needs_client ? client : 0;
  LocalJob& made = jobs_[asked.job] = {.what = std::move(submission), .terminal = terminal};
  room_.add(asked.job, {asked.gpus, asked.types, made.what.gpu_memory_mb},
            host_need(made.what, asked.user, asked.gpus > 0));
  conditions_.add_new(asked, made.what);
  reservations_.on_new_job(made.what);
}

Status LocalBackend::set_priority(JobId job, Priority priority) {
  FL_TRY(conditions_.set_priority(job, priority));
  room_.host.set_priority(job, priority);
  return {};
}

void LocalBackend::on(const Record& record) {
  conditions_.on(record);
  reservations_.on(record);
  room_.host.on_change();
  std::visit(Overloaded{
                 [&](const OneOf<record::Finished, record::Failed, record::Cancelled> auto& what) {
                   done_.push_back(what.job);
                 },
                 [&](const record::Rejected& rejected) { done_.push_back(rejected.asked.job); },
                 [](const auto&) {},
             },
             record.what);
}

void LocalBackend::carry_out(Time now, std::span<const Step> steps) {
  // A job without GPUs always goes on where it is.
  const auto may_move = [&](JobId job) {
    return std::ranges::any_of(steps, [&](const Step& step) {
      return step.kind == Step::Kind::kPlace && step.job == job && !step.gang.empty();
    });
  };
  for (const Step& step : steps) {
    if (step.kind == Step::Kind::kStop) stop(now, step.job, step.run, may_move(step.job));
  }
  for (const Step& step : steps) {
    if (step.kind != Step::Kind::kPlace) continue;
    LocalJob& job = jobs_[step.job];
    if (step.copy > 0) {  // one task has all copies
      if (!job.start || job.start->run != step.run) continue;
      const auto gpus = machine_gpus(first_gpus_, step.gang, step.gpu_masks);
      job.start->gpus.insert(job.start->gpus.end(), gpus.begin(), gpus.end());
      continue;
    }
    if (step.run <= job.run) continue;  // a repeated step
    job.run = step.run;
    job.has_ended = false;
    launcher_.add(step.job, job,
                  {step.run, machine_gpus(first_gpus_, step.gang, step.gpu_masks), now});
  }
  start_all_due(now);
}

void LocalBackend::stop(Time now, JobId id, RunId run, bool moves) {
  LocalJob* const found = jobs_.find(id);
  if (found == nullptr) return say_stopped(id, run);
  LocalJob& job = *found;
  if (run <= std::exchange(job.stopped, std::max(job.stopped, run))) return;  // a repeated step
  if (job.start && job.start->run == run) {  // its start was still pending
    launcher_.withdraw(id, job);
    return say_stopped(id, run);
  }
  if (!job.task || job.task->state != LocalTask::State::kRunning) return say_stopped(id, run);
  if (moves || !tables_.jobs.is_here(id)) return jobs_.leave(now, *job.task, run);
  freeze(now, job, run);
}

void LocalBackend::freeze(Time now, LocalJob& job, RunId run) {
  LocalTask& task = *job.task;
  // Its processes can install no handler while they are frozen.
  if (tables_.jobs.keeps_no_work(task.id.job)) monitor_.look_at(now, job);
  if (!io_.freeze(task.id)) return jobs_.leave(now, task, run);
  task.state = LocalTask::State::kFrozen;
  jobs_.set_works(now, task, false);
  if (run != 0) say_stopped(task.id.job, run);
}

void LocalBackend::say_stopped(JobId job, RunId run) {
  inbox_.add({.kind = EventKind::kStopped, .job = job, .run = run});
}

// A task that begins after a bad end would hide it from the next daemon, if that end cannot be kept.
void LocalBackend::start_all_due(Time now) {
  if (disk()) launcher_.start_all_due(now);
}

void LocalBackend::adopt(Time now, std::span<const TaskStatus> tasks, const TaskHistory& history) {
  for (auto& [id, job] : jobs_.all()) job.run = tables_.jobs.run[id];
  gpus_.look(now);  // before any task starts
  room_.gpus.set_report(gpus_.memory());
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
  for (auto& [id, job] : jobs_.all()) take_up(now, id, job);
  for (const auto& [run, busy] : tables_.stopping) {
    LocalTask* const task = jobs_.task_of(run.first);
    if (task != nullptr && task->works) {
      task->stopped_run = run.second;
    } else {
      say_stopped(run.first, run.second);
    }
  }
  start_all_due(now);
}

// Takes over a found task.
void LocalBackend::find(Time now, const TaskStatus& status, const TaskHistory& history) {
  const std::vector<std::uint32_t>* const known = history.gpus_of(status.id);
  const bool has_ended = status.state == TaskStatus::State::kEnded;
  if (known == nullptr || jobs_.task_of(status.id.job) != nullptr) {  // not ours
    if (!has_ended) io_.kill(status.id);
    return;
  }
  const std::vector<std::uint32_t>& gpus = *known;
  // The task of a finished job has its GPUs until it has left.
  LocalTask& task = jobs_[status.id.job].task.emplace();
  task.id = status.id;
  task.gpus = gpus;
  task.works = false;
  if (!has_ended) room_.come(status.id.job, gpus);
  if (status.state == TaskStatus::State::kFrozen) task.state = LocalTask::State::kFrozen;
  const bool is_running = status.state == TaskStatus::State::kRunning;
  if (is_running && (status.was_interrupted || jobs_.are_free(gpus, status.id.job))) {
    jobs_.set_works(now, task, true);
  }
  if (!status.was_interrupted && tables_.jobs.is_here(status.id.job)) return;
  if (has_ended) {
    task.state = LocalTask::State::kLeaving;
  } else {
    jobs_.leave(now, task, 0);
  }
}

// Takes over a job that is here, and its task, if one was found. If the job is running without a task and without a
// recorded end, its task has ended.
void LocalBackend::take_up(Time now, JobId id, LocalJob& job) {
  if (job.has_ended || !tables_.jobs.is_here(id)) return;
  const Jobs& jobs = tables_.jobs;
  const bool works = job.task && job.task->works && job.task->state == LocalTask::State::kRunning;
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
  if (works) jobs_.leave(now, *job.task, 0);
  launcher_.add(id, job, {job.run, std::move(gpus), now});
}

void LocalBackend::on_task_ended(Time now, TaskId id, TaskEnd end) {
  ended_.push_back(id);
  LocalJob* const found = jobs_.find(id.job);
  if (found == nullptr || !found->task || found->task->id != id) return;
  LocalJob& job = *found;
  const LocalTask task = jobs_.take_task(now, job);
  room_.leave(id.job);
  const bool is_leaving = task.state == LocalTask::State::kLeaving;
  if (task.stopped_run != 0) say_stopped(id.job, task.stopped_run);
  // A task may have ended by itself just before it was asked to leave.
  const bool has_left = is_leaving && (end.was_asked || !end.is_known);
  job.left_at = has_left ? task.sensors.of_job() : std::nullopt;
  if (!has_left && tables_.jobs.is_here(id.job)) ends_.on_task_ended(now, task, job, end);
  if (!tables_.jobs.is_here(id.job)) remove(id.job);
  start_all_due(now);
}

Status LocalBackend::retire(Time now,
                            const std::function<Status(JobId, const Submission&)>& on_end) {
  for (TaskId id : std::exchange(ended_, {})) io_.forget(id);
  for (JobId id : std::exchange(done_, {})) {
    LocalJob* const found = jobs_.find(id);
    if (found == nullptr) continue;
    LocalJob& job = *found;
    FL_TRY(on_end(id, job.what));
    launcher_.withdraw(id, job);
    if (!job.task) {
      remove(id);
    } else if (job.task->state != LocalTask::State::kLeaving) {
      jobs_.leave(now, *job.task, 0);
    }
  }
  return {};
}

void LocalBackend::remove(JobId id) {
  conditions_.remove(id);
  room_.remove(id);
  jobs_.erase(id);
  io_.remove(submission_file(id));
}

Time LocalBackend::deadline() const {
  return std::min({gpus_.deadline(), conditions_.deadline(), room_.gpus.deadline(),
                   room_.host.deadline(), reservations_.deadline(), monitor_.deadline(),
                   ends_.deadline(), jobs_.deadline()});
}

void LocalBackend::on_time(Time now, Time instant) {
  ends_.on_time(instant);
  room_.gpus.set_report(gpus_.memory());
  const auto is_bound = [&](JobId id) { return jobs_.at(id).task || jobs_.at(id).start; };
  room_.update(now, is_bound, conditions_);
  reservations_.update(now);
  conditions_.update(now);
  gpus_.on_time(now);
  monitor_.on_time(now);
  jobs_.on_time(now);
}

std::uint64_t LocalBackend::last_choice(JobId job, NodeId node) const {
  std::uint64_t mask = 0;
  for (std::uint32_t gpu = first_gpus_[node]; gpu < first_gpus_[NodeId(node.row() + 1)]; ++gpu) {
    const bool is_left = std::ranges::any_of(jobs_.working_on(gpu), [&](JobId at) {
      return at != job && (!tables_.jobs.is_here(at) || jobs_.is_leaving(at));
    });
    if (is_left || gpus_.is_suspect(gpu) || !room_.gpus.fits(job, {&gpu, 1}))
      mask |= std::uint64_t{1} << (gpu - first_gpus_[node]);
  }
  return mask;
}

}  // namespace fairlead
