// Choices among the GPUs for a start, the load of jobs' GPUs, checks for idle ones, and the tasks to judge GPUs by.

#include "fairlead/base/time_text.h"
#include "fairlead/local/local_backend.h"

#include <algorithm>
#include <utility>

namespace fairlead {

// Adds the load of their GPUs to the tasks that work. Cancels the jobs that have left their GPUs idle for longer than
// their users accept.
void LocalBackend::note_load(Time now) {
  const std::span<const int> busy_percent = gpus_.busy_percent();
  const auto is_idle = [&](std::uint32_t gpu) {
    return gpu < busy_percent.size() && busy_percent[gpu] == 0;
  };
  for (auto& [id, job] : jobs_) {
    if (!job.task || !job.task->works) continue;
    Task& task = *job.task;
    for (const std::uint32_t gpu : task.gpus) {
      if (gpu < busy_percent.size())  // no stand-in
        task.sensors.add_load(busy_percent[gpu], gpus_.power_w()[gpu]);
    }
    if (!std::ranges::all_of(task.gpus, is_idle)) {
      task.idle_since = Time::never();
    } else if (task.idle_since == Time::never()) {
      task.idle_since = now;
    }
    const Duration limit = job.what.idle_end;
    if (limit.ms == 0 || idle(id, now) < limit || !tables_.jobs.is_here(id)) continue;
    inbox_.add({.kind = EventKind::kCancelled,
                .job = id,
                .reason = inbox_.keep("its GPUs were idle for " + span_text(limit.ms))});
  }
}

Duration LocalBackend::idle(JobId job, Time now) const {
  const auto found = jobs_.find(job);
  if (found == jobs_.end() || !found->second.task) return {};
  const Time since = found->second.task->idle_since;
  return since == Time::never() || now - since < kIdleMin ? Duration() : now - since;
}

GpuBlame::Try LocalBackend::try_of(JobId id, const Task& task) const {
  const Jobs& jobs = tables_.jobs;
  return {.task = task.id,
          .user = tables_.users.names[jobs.user[id]],
          .program = std::string(jobs.model[id].is_none() ? std::string_view(tables_.names[id])
                                                          : tables_.models[jobs.model[id]]),
          .gpus = task.gpus};
}

std::uint64_t LocalBackend::last_choice(JobId job, NodeId node) const {
  std::uint64_t mask = 0;
  for (std::uint32_t gpu = first_gpus_[node]; gpu < first_gpus_[NodeId(node.row() + 1)]; ++gpu) {
    const bool is_left = std::ranges::any_of(works_on_[gpu], [&](JobId at) {
      return at != job && (!tables_.jobs.is_here(at) || std::ranges::count(leaving_, at) > 0);
    });
    if (is_left || gpus_.is_suspect(gpu) || !room_.fits(job, {&gpu, 1}))
      mask |= std::uint64_t{1} << (gpu - first_gpus_[node]);
  }
  return mask;
}

}  // namespace fairlead
