#include "contract/watched_backend.h"

#include <fmt/format.h>

#include <algorithm>

namespace fairlead {

void WatchedBackend::check(bool is_kept, std::string_view promise, JobId job, RunId run) {
  if (is_kept) return;
  const std::string about = job.is_none() ? "" : fmt::format(", j{}#{}", job.row(), run);
  broken_.push_back(fmt::format("{}s{}: {}", to_seconds(last_), about, promise));
}

Batch WatchedBackend::wait(Time until, bool awaited) {
  const Batch batch = inner_.wait(until, awaited);
  check(batch.ended || batch.now <= until, "an instant beyond the one to wait for");
  check(batch.now >= last_, "an instant before the last");
  last_ = std::max(last_, batch.now);
  std::vector<JobId> arrived;
  for (const Event& event : batch.events) {
    if (event.kind == EventKind::kArrived) arrived.push_back(event.job);
    watch(event);
  }
  check(std::ranges::equal(arrived, batch.jobs, {}, {}, &JobSpec::job),
        "the jobs are not those of the arrivals");
  if (look) {
    const std::string wrong = look();
    check(wrong.empty(), wrong);
  }
  if (batch.ended) watch_end();
  return batch;
}

void WatchedBackend::watch(const Event& event) {
  if (!is_about_run(event.kind)) return;
  const auto run = runs_.find({event.job, event.run});
  check(run != runs_.end(), "an event about a run that no step began", event.job, event.run);
  if (run != runs_.end()) run->second.told.insert(event.kind);
}

void WatchedBackend::carry_out(Time now, std::span<const Step> steps) {
  for (const Step& step : steps) {
    JobRun& run = runs_[{step.job, step.run}];
    if (step.kind == Step::Kind::kStop) run.is_stopped = true;
  }
  inner_.carry_out(now, steps);
  if (repeats_steps) inner_.carry_out(now, steps);
}

void WatchedBackend::watch_end() {
  has_ended_ = true;
  const bool reports = inner_.reports_steps();
  for (const auto& [key, run] : runs_) {
    const auto was_told = [&told = run.told](EventKind kind) { return told.contains(kind); };
    const bool started = was_told(EventKind::kStarted);
    const bool failed = was_told(EventKind::kStartFailed);
    const bool stopped = reports ? was_told(EventKind::kStopped) : run.is_stopped;
    const bool ended = was_told(EventKind::kFinished) || was_told(EventKind::kFailed) ||
                       was_told(EventKind::kEvicted);
    check(!(started && failed), "it started, and its start failed", key.first, key.second);
    check(failed || stopped || ended, "its run never ends", key.first, key.second);
    check(!run.is_stopped || stopped, "its stop is never told", key.first, key.second);
    check(reports || !(started || failed || was_told(EventKind::kStopped)),
          "a step is reported, though none are", key.first, key.second);
  }
}

}  // namespace fairlead
