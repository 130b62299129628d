#include "fairlead/engine/job_events.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace fairlead {

JobEvents::JobEvents(EngineState& state, Instant& instant, NodeEvents& nodes, Timers& timers,
                     const EngineOptions& options)
    : state_(state),
      tables_(state.tables),
      jobs_(state.tables.jobs),
      instant_(instant),
      nodes_(nodes),
      timers_(timers),
      options_(options) {}

bool JobEvents::apply(const Event& event) {
  switch (event.kind) {
    case EventKind::kFinished:
    case EventKind::kFailed:
      return finish(event);
    case EventKind::kCancelled:
      return cancel(event);
    case EventKind::kHeld:
      return hold_back(event.job);
    case EventKind::kReleased:
      return release(event.job);
    case EventKind::kEvicted:
      return evict(event);
    case EventKind::kStartFailed:
      return fail_start(event);
    case EventKind::kStopped:
      return confirm_stop(event);
    case EventKind::kStopFailed:
      return fail_stop(event);
    case EventKind::kStarted:
      return confirm_start(event);
    case EventKind::kProgress:
      return change_speed(event);
    case EventKind::kReported:
      return report(event);
    case EventKind::kProfiled:
      return see_profile(event);
    case EventKind::kPinned:
      return change_pinned(event);
    default:
      return false;
  }
}

// No policy gets news of a job that needs no GPU.
void JobEvents::add_news(const Event& event) {
  if (tables_.needs_gpus(event.job)) instant_.news.push_back(event);
}

bool JobEvents::is_running(JobId job, RunId run) const {
  return jobs_.state[job] == JobState::kRunning && jobs_.run[job] == run;
}

bool JobEvents::arrive(JobSpec spec, const Policy& policy) {
  if (jobs_.has(spec.job) || !tables_.users.names.has(spec.user)) return false;
  const auto [refusal, types] = spec.gpus == 0 ? Eligibility::Answer()
                                               : eligibility_.answer(spec, policy, tables_.cluster,
                                                                     tables_.users, jobs_.limits);
  if (!refusal.empty()) {
    state_.log(record::Rejected{spec, refusal});
    state_.add_job(spec.job);
    return true;
  }
  spec.types = types;
  // Copies exchange their work through a checkpoint, which a pinned job does not have.
  if (spec.extras.pinned != kMayMove) spec.extras.copies_max = 1;
  state_.standstill.on_arrival(state_.now, !has_jobs(tables_));
  state_.log(record::Arrived{spec});
  state_.add_job(spec.job);
  state_.declare_work(spec.job, spec.work);
  add_news({.kind = EventKind::kArrived, .job = spec.job});
  return true;
}

// Ends a job by its current or last run, because a suspended job may end, or by a run that is being
// stopped. In that case the job ended before the stop, and a run that started since has no work.
bool JobEvents::finish(const Event& event) {
  const JobId job = event.job;
  const bool is_last = event.run == jobs_.run[job] && event.run > 0;
  if (!jobs_.is_here(job) || !(is_last || tables_.stopping.contains({job, event.run})))
    return false;
  const bool was_held = jobs_.state[job] == JobState::kHeld;
  if (jobs_.state[job] == JobState::kRunning) {
    if (!is_last) instant_.add_stop(job, jobs_.run[job]);
    state_.lose_run(job);
  }
  state_.standstill.on_end();
  if (event.kind == EventKind::kFinished) {
    state_.log(record::Finished{job});
    state_.finish_work(job);
  } else {
    state_.log(record::Failed{job, event.reason});
  }
  // A policy has forgotten a job that is held.
  if (!was_held) add_news(event);
  return true;
}

bool JobEvents::cancel(const Event& event) {
  const JobId job = event.job;
  if (!jobs_.is_here(job)) return false;
  const bool was_held = jobs_.state[job] == JobState::kHeld;
  if (jobs_.state[job] == JobState::kRunning) stop_now(job, StopCause::kCancelled);
  state_.standstill.on_end();
  state_.log(record::Cancelled{job, event.reason});
  if (!was_held) add_news({.kind = EventKind::kCancelled, .job = job});
  return true;
}

bool JobEvents::hold_back(JobId job) {
  if (!jobs_.is_here(job)) return false;
  const bool was_held = jobs_.state[job] == JobState::kHeld;
  if (was_held && tables_.held_until.at(job) == Time::never()) return false;
  if (jobs_.state[job] == JobState::kRunning) stop_now(job, StopCause::kHeld);
  state_.log(record::Held{job});
  // A policy gets no event of a job that comes and is held at once.
  const auto is_arrival = [&](const Event& news) {
    return news.kind == EventKind::kArrived && news.job == job;
  };
  if (!was_held && std::erase_if(instant_.news, is_arrival) == 0)
    add_news({.kind = EventKind::kCancelled, .job = job});
  return true;
}

bool JobEvents::release(JobId job) {
  if (jobs_.state[job] != JobState::kHeld) return false;
  state_.standstill.on_release();
  state_.log(record::Released{job});
  add_news({.kind = EventKind::kArrived, .job = job});
  return true;
}

void JobEvents::release_due() {
  while (const auto retry = timers_.take_retry(state_.now)) {
    const auto [time, job] = *retry;
    const auto held = tables_.held_until.find(job);
    if (held != tables_.held_until.end() && held->second == time) release(job);
  }
}

bool JobEvents::evict(const Event& event) {
  if (!is_running(event.job, event.run)) return confirm_stop(event);
  state_.lose_run(event.job, event.lost);
  state_.log(record::Evicted{event.job, event.lost});
  add_news(event);
  return true;
}

bool JobEvents::confirm_stop(const Event& event) {
  const auto stopping = tables_.stopping.find({event.job, event.run});
  if (stopping == tables_.stopping.end()) return false;
  const Tables::Stopping busy = stopping->second;
  state_.log(record::Stopped{event.job, event.run});
  if (!busy.has_failed) return true;
  for (const auto& [node, gpus] : busy.gpus) nodes_.bring_gpus_up(node, gpus);
  return true;
}

// The GPUs are as good as gone until the run is over.
bool JobEvents::fail_stop(const Event& event) {
  const auto stopping = tables_.stopping.find({event.job, event.run});
  if (stopping == tables_.stopping.end() || stopping->second.has_failed) return false;
  const Tables::Stopping busy = stopping->second;
  state_.log(record::StopFailed{event.job, event.run, event.reason});
  for (const auto& [node, gpus] : busy.gpus) nodes_.take_gpus_down(node, gpus);
  return true;
}

bool JobEvents::confirm_start(const Event& event) {
  if (!is_running(event.job, event.run) || !jobs_.is_starting(event.job)) return false;
  state_.log(record::Started{event.job, event.overhead});
  state_.start_run(event.job);
  return true;
}

bool JobEvents::change_speed(const Event& event) {
  if (!is_running(event.job, event.run)) return false;
  state_.change_speed(event.job, event.rate);
  return true;
}

bool JobEvents::report(const Event& event) {
  if (!jobs_.is_here(event.job) || event.left.ms <= 0) return false;
  state_.log(record::Reported{event.job, event.left});
  state_.work.on_report(event.job, event.left);
  return true;
}

bool JobEvents::see_profile(const Event& event) {
  if (!event.profile.is_plausible()) return false;
  if (state_.speeds.see_profile(event.job, event.profile))
    state_.log(record::Profiled{event.job, event.profile});
  return true;
}

bool JobEvents::change_pinned(const Event& event) {
  if (!jobs_.is_here(event.job) || jobs_.keeps_no_work(event.job) == event.is_pinned) return false;
  state_.change_pinned(event.job, event.is_pinned);
  return true;
}

bool JobEvents::fail_start(const Event& event) {
  const JobId job = event.job;
  if (!is_running(job, event.run)) return false;
  const auto failed = tables_.failed_starts.find(job);
  const std::uint32_t before = failed == tables_.failed_starts.end() ? 0 : failed->second;
  const std::int64_t doubled = options_.retry_first.ms << std::min<std::uint32_t>(before, 30);
  const Time retry = state_.now + std::min(Duration{doubled}, options_.retry_max);
  std::vector<NodeId> nodes;
  for (Slice slice : jobs_.last_gang(job)) nodes.push_back(slice.node);
  state_.lose_run(job);
  state_.log(record::StartFailed{job, retry, event.reason});
  if (before + 1 >= options_.starts_max) {
    state_.standstill.on_end();
    state_.log(record::Failed{job, event.reason});
  } else {
    timers_.retry_at(retry, job);
  }
  add_news({.kind = EventKind::kCancelled, .job = job});
  cordon_failing(nodes, event.reason);
  return true;
}

// Cordons the nodes with too many failed starts.
void JobEvents::cordon_failing(std::span<const NodeId> nodes, std::string_view reason) {
  for (NodeId node : nodes) {
    const auto failed = tables_.failed_on.find(node);
    if (failed == tables_.failed_on.end() || failed->second.size() < options_.cordon_after)
      continue;
    nodes_.cordon(node, reason);
  }
}

void JobEvents::announce_all() {
  std::vector<JobId> running(tables_.running.members().begin(), tables_.running.members().end());
  std::ranges::sort(running);
  for (JobId job : running) stop_now(job, StopCause::kRestart);
  std::vector<JobId> waiting(tables_.waiting.members().begin(), tables_.waiting.members().end());
  std::ranges::sort(waiting);
  instant_.news.clear();
  for (JobId job : waiting) instant_.add_news(EventKind::kArrived, job);
}

// Takes a gang away without asking the policy.
void JobEvents::stop_now(JobId job, StopCause cause) {
  instant_.add_stop(job, jobs_.run[job]);
  state_.lose_run(job);
  state_.log(
      record::Stop{.job = job, .cause = cause, .is_reported = state_.world->reports_steps()});
}

}  // namespace fairlead
