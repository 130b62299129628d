#include "fairlead/metrics/run_result.h"

#include "fairlead/metrics/metrics.h"

namespace fairlead {

void get_job_result(const Metrics& metrics, JobId job, JobResult& result) {
  const JobTable& jobs = metrics.jobs();
  result.job = jobs.names[job];
  result.user = metrics.user_names()[jobs.user[job].row()];
  result.model = jobs.models[job];
  result.gpus = jobs.gpus[job];
  result.submit = jobs.submit[job];
  result.start = jobs.start[job] == Time::never() ? std::nullopt : std::optional(jobs.start[job]);
  result.finish.reset();
  result.jct.reset();
  result.queue.reset();
  if (jobs.finish[job] != Time::never()) {
    result.finish = jobs.finish[job];
    result.jct = jobs.finish[job] - jobs.submit[job];
    result.queue = jobs.queued(job);
  }
  result.gpu_types = jobs.gpu_types(job, metrics.gpu_types());
  result.preemptions = jobs.preemptions[job];
  result.migrations = jobs.migrations[job];
  result.status = job_status_name(jobs.status[job]);
}

std::vector<JobResult> job_results(const Metrics& metrics) {
  std::vector<JobResult> results;
  results.reserve(metrics.jobs().size());
  for (JobId job : ids<JobId>(metrics.jobs().size())) {
    if (metrics.jobs().status[job] == JobStatus::kUnseen) continue;
    get_job_result(metrics, job, results.emplace_back());
  }
  return results;
}

std::vector<TimelinePoint> timeline_of(const Metrics& metrics) {
  const Timeline& timeline = metrics.timeline();
  std::vector<TimelinePoint> points;
  points.reserve(timeline.rows().size());
  for (const TimelineRow& row : timeline.rows()) {
    const auto duration_ms = static_cast<double>(timeline.duration(row.bin).ms);
    points.push_back({.t = timeline.start(row.bin),
                      .user = metrics.user_names()[row.user.row()],
                      .gpus_allocated = static_cast<double>(row.allocated.gpu_ms) / duration_ms,
                      .gpus_entitled = row.entitled_gpu_ms / duration_ms,
                      .jobs_running = static_cast<double>(row.running_job_ms) / duration_ms,
                      .jobs_waiting = static_cast<double>(row.waiting_job_ms) / duration_ms});
  }
  return points;
}

}  // namespace fairlead
