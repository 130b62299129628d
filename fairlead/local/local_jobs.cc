#include "fairlead/local/local_jobs.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

namespace fairlead {
namespace {

// A killed task that still exists, for example because it waits for a disk, is killed again.
constexpr Duration kKillAgain = seconds(10);

}  // namespace

GpuBlame::Try try_of(const Tables& tables, const LocalTask& task) {
  const Jobs& jobs = tables.jobs;
  const JobId id = task.id.job;
  return {.task = task.id,
          .user = tables.users.names[jobs.user[id]],
          .program = std::string(jobs.model[id].is_none() ? std::string_view(tables.names[id])
                                                          : tables.models[jobs.model[id]]),
          .gpus = task.gpus};
}

LocalJob* LocalJobs::find(JobId job) {
  const auto found = jobs_.find(job);
  return found == jobs_.end() ? nullptr : &found->second;
}

const Submission* LocalJobs::submission(JobId job) const {
  const auto found = jobs_.find(job);
  return found == jobs_.end() ? nullptr : &found->second.what;
}

const LocalTask* LocalJobs::task_of(JobId job) const {
  const auto found = jobs_.find(job);
  return found == jobs_.end() || !found->second.task ? nullptr : &*found->second.task;
}

LocalTask* LocalJobs::task_of(JobId job) {
  LocalJob* const found = find(job);
  return found == nullptr || !found->task ? nullptr : &*found->task;
}

void LocalJobs::write(JobId job, const Submission& what) {
  const Status status = io_.write(submission_file(job), submission_text(what));
  if (!status) disk_ = status;
}

void LocalJobs::set_works(Time now, LocalTask& task, bool works) {
  task.works = works;
  if (works) {
    task.sensors.run(now);
  } else {
    task.sensors.pause(now);
    task.idle_since = Time::never();
  }
  for (std::uint32_t gpu : task.gpus) {
    std::erase(works_on_[gpu], task.id.job);
    if (works) works_on_[gpu].push_back(task.id.job);
  }
}

bool LocalJobs::are_free(std::span<const std::uint32_t> gpus, JobId for_job) const {
  return std::ranges::all_of(gpus, [&](std::uint32_t gpu) {
    return std::ranges::all_of(works_on_[gpu], [&](JobId job) { return job == for_job; });
  });
}

void LocalJobs::leave(Time now, LocalTask& task, RunId stopped_run) {
  task.state = LocalTask::State::kLeaving;
  task.deadline = now + grace_;
  task.stopped_run = stopped_run;
  leaving_.push_back(task.id.job);
  io_.interrupt(task.id);
}

bool LocalJobs::is_leaving(JobId job) const {
  return std::ranges::find(leaving_, job) != leaving_.end();
}

LocalTask LocalJobs::take_task(Time now, LocalJob& job) {
  LocalTask task = *job.task;
  if (task.works) set_works(now, *job.task, false);
  job.task.reset();
  if (task.state == LocalTask::State::kLeaving) std::erase(leaving_, task.id.job);
  return task;
}

void LocalJobs::on_time(Time now) {
  for (JobId id : leaving_) {
    LocalTask& task = *jobs_.at(id).task;
    if (task.deadline > now) continue;
    io_.kill(task.id);
    task.deadline = now + kKillAgain;
  }
}

Time LocalJobs::deadline() const {
  Time next = Time::never();
  for (JobId id : leaving_) next = std::min(next, jobs_.at(id).task->deadline);
  return next;
}

}  // namespace fairlead
