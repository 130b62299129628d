#include "fairlead/metrics/logged_starts.h"

#include <algorithm>
#include <cstddef>

namespace fairlead {

void LoggedStarts::arrive(const JobSpec& asked) {
  if (asked.logged.start == Time::never()) return;
  start_.resize(std::max<std::size_t>(start_.size(), asked.job.row() + 1), Time::never());
  start_[asked.job] = asked.logged.start;
}

void LoggedStarts::finish(const JobTable& jobs, JobId job) {
  if (!start_.has(job) || start_[job] == Time::never()) return;
  const Time start = start_[job];
  ++counts_.starts;
  counts_.kept += jobs.start[job] == start;
  counts_.later += jobs.start[job] > start;
  wait_ += start - jobs.submit[job];
  wait_here_ += jobs.queued(job);
}

LoggedSummary LoggedStarts::summary() const {
  LoggedSummary summary = counts_;
  if (counts_.starts == 0) return summary;
  const auto jobs = static_cast<double>(counts_.starts);
  summary.queue_avg_s = to_seconds(wait_) / jobs;
  summary.queue_avg_here_s = to_seconds(wait_here_) / jobs;
  return summary;
}

}  // namespace fairlead
