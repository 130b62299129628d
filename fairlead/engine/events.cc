// Events of the world: each is applied to the tables and passed to the policy, or ignored.

#include "fairlead/engine/engine.h"
#include "fairlead/model/levels.h"
#include "fairlead/model/step.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace fairlead {
namespace {

Event job_news(EventKind kind, JobId job) { return {.kind = kind, .job = job}; }

bool may_have(std::int64_t tickets) { return tickets >= 1 && tickets <= kTicketsMax; }

}  // namespace

// Admits new groups, users and nodes. Known ones are ignored.
void Engine::admit(const Batch& batch) {
  const Groups& groups = tables_.users.groups;
  for (const GroupSpec& group : batch.groups) {
    if (group.group.row() != groups.size() || !may_have(group.tickets) || group.quota < 0) continue;
    log(record::Group{group.group, group.name, group.tickets, group.quota});
  }
  for (const UserSpec& user : batch.users) {
    if (user.user.row() != tables_.users.size() || !may_have(user.tickets)) continue;
    if (!user.group.is_none() && !groups.names.has(user.group)) continue;
    log(record::User{user.user, user.name, user.tickets, user.group});
  }
  for (const NodeJoin& join : batch.nodes) {
    if (join.node.row() != tables_.cluster.nodes() || !tables_.cluster.can_add(join.row)) continue;
    log(record::Node{.node = join.node,
                     .name = join.row.name,
                     .type = join.row.type,
                     .host = join.row.host,
                     .rack = join.row.rack,
                     .gpus = join.row.gpus});
    plan_.free_.add_node();
    known_.add_node();
    news_.push_back({.kind = EventKind::kGpusUp, .node = join.node});
  }
}

// Returns true if something happened that a policy may act on.
bool Engine::apply_events(const Batch& batch) {
  counts_.events += std::ssize(batch.events);
  std::size_t arrivals = 0;
  bool is_news = false;
  for (const Event& event : batch.events) {
    const std::size_t told = news_.size();
    bool counts = true;
    if (event.kind == EventKind::kArrived) {
      const bool has_spec = arrivals < batch.jobs.size() && batch.jobs[arrivals].job == event.job;
      counts = has_spec && arrive(batch.jobs[arrivals++]);
    } else {
      counts = apply_event(event);
    }
    if (!counts) {
      ++counts_.ignored;
      log(record::Ignored{event.kind, event.job, event.node, event.run});
    }
    // A rejection leads to a decision as well: other jobs may have counted on the one rejected.
    is_news |= news_.size() > told || (counts && event.kind == EventKind::kArrived);
  }
  return is_news;
}

bool Engine::apply_event(const Event& event) {
  switch (event.kind) {
    case EventKind::kCordoned:
    case EventKind::kUncordoned:
    case EventKind::kGpusDown:
    case EventKind::kGpusUp:
      return tables_.nodes.has(event.node) && apply_node_event(event);
    case EventKind::kRoomUp:
      if (!tables_.nodes.has(event.node)) return false;
      news_.push_back({.kind = EventKind::kGpusUp, .node = event.node});
      return true;
    case EventKind::kTickets: {
      const Users& users = tables_.users;
      if (!users.names.has(event.user) || !may_have(event.tickets)) return false;
      if (users.tickets[event.user] == event.tickets) return false;
      log(record::Tickets{event.user, event.tickets});
      news_.push_back(event);
      return true;
    }
    case EventKind::kForgotten:
      if (!known_.forget(event.user, tables_.model_named(event.model))) return false;
      log(record::Forgotten{event.user, event.model});
      return true;
    case EventKind::kWoke:
      return false;
    default:
      return jobs_.has(event.job) && apply_job_event(event);
  }
}

bool Engine::apply_job_event(const Event& event) {
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
      if (!is_running(event.job, event.run)) return false;
      change_speed(event.job, event.rate);
      return true;
    case EventKind::kReported:
      return report(event);
    case EventKind::kProfiled:
      if (!event.profile.is_plausible()) return false;
      if (known_.see_profile(event.job, event.profile))
        log(record::Profiled{event.job, event.profile});
      return true;
    case EventKind::kPinned:
      if (!jobs_.is_here(event.job) || jobs_.keeps_no_work(event.job) == event.is_pinned)
        return false;
      plan_.unpin(event.job, plan_.gangs_[event.job]);
      log(record::Pinned{event.job, event.is_pinned});
      plan_.pin(event.job, plan_.gangs_[event.job]);
      return true;
    default:
      return false;
  }
}

bool Engine::apply_node_event(const Event& event) {
  switch (event.kind) {
    case EventKind::kGpusDown:
      return take_gpus_down(event.node, event.gpus);
    case EventKind::kGpusUp:
      return bring_gpus_up(event.node, event.gpus);
    case EventKind::kCordoned:
      return cordon(event.node, event.reason);
    default:
      return uncordon(event.node);
  }
}

bool Engine::is_running(JobId job, RunId run) const {
  return jobs_.state[job] == JobState::kRunning && jobs_.run[job] == run;
}

bool Engine::arrive(JobSpec spec) {
  if (jobs_.has(spec.job) || !tables_.users.names.has(spec.user)) return false;
  const auto [refusal, types] =
      eligibility_.answer(spec, *policy_, tables_.cluster, tables_.users, jobs_.limits);
  if (!refusal.empty()) {
    log(record::Rejected{spec, refusal});
    add_job(spec.job);
    return true;
  }
  spec.types = types;
  // Copies exchange their work through a checkpoint, which a pinned job does not have.
  if (spec.extras.pinned != kMayMove) spec.extras.copies_max = 1;
  standstill_.on_arrival(now_, !has_jobs(tables_));
  log(record::Arrived{spec});
  add_job(spec.job);
  known_work_.on_arrived(spec.job, spec.work);
  news_.push_back(job_news(EventKind::kArrived, spec.job));
  return true;
}

void Engine::add_job(JobId job) {
  plan_.add_job(job);
  changed_at_.grow_to(job);
  known_.add_job(job);
}

// Ends a job by its current or last run, because a suspended job may end, or by a run that is being
// stopped. In that case the job ended before the stop, and a run that started since has no work.
bool Engine::finish(const Event& event) {
  const JobId job = event.job;
  const bool is_last = event.run == jobs_.run[job] && event.run > 0;
  if (!jobs_.is_here(job) || !(is_last || tables_.stopping.contains({job, event.run})))
    return false;
  const bool was_held = jobs_.state[job] == JobState::kHeld;
  if (jobs_.state[job] == JobState::kRunning) {
    if (!is_last) {
      steps_.push_back({.kind = Step::Kind::kStop, .job = job, .run = jobs_.run[job]});
    }
    lose_run(job);
  }
  standstill_.on_end();
  if (event.kind == EventKind::kFinished) {
    log(record::Finished{job});
    known_work_.on_finished(job);
  } else {
    log(record::Failed{job, event.reason});
  }
  // A policy has forgotten a job that is held.
  if (!was_held) news_.push_back(event);
  return true;
}

bool Engine::cancel(const Event& event) {
  const JobId job = event.job;
  if (!jobs_.is_here(job)) return false;
  const bool was_held = jobs_.state[job] == JobState::kHeld;
  if (jobs_.state[job] == JobState::kRunning) stop_now(job, StopCause::kCancelled);
  standstill_.on_end();
  log(record::Cancelled{job, event.reason});
  if (!was_held) news_.push_back(job_news(EventKind::kCancelled, job));
  return true;
}

bool Engine::hold_back(JobId job) {
  if (!jobs_.is_here(job)) return false;
  const bool was_held = jobs_.state[job] == JobState::kHeld;
  if (was_held && tables_.held_until[job] == Time::never()) return false;
  if (jobs_.state[job] == JobState::kRunning) stop_now(job, StopCause::kHeld);
  log(record::Held{job});
  // A policy gets no event of a job that comes and is held at once.
  const auto is_arrival = [&](const Event& news) {
    return news.kind == EventKind::kArrived && news.job == job;
  };
  if (!was_held && std::erase_if(news_, is_arrival) == 0)
    news_.push_back(job_news(EventKind::kCancelled, job));
  return true;
}

bool Engine::release(JobId job) {
  if (jobs_.state[job] != JobState::kHeld) return false;
  standstill_.on_release();
  log(record::Released{job});
  news_.push_back(job_news(EventKind::kArrived, job));
  return true;
}

void Engine::release_due() {
  while (!retries_.empty() && retries_.top().first <= now_) {
    const auto [retry, job] = retries_.top();
    retries_.pop();
    const auto held = tables_.held_until.find(job);
    if (held != tables_.held_until.end() && held->second == retry) release(job);
  }
}

bool Engine::evict(const Event& event) {
  if (!is_running(event.job, event.run)) return confirm_stop(event);
  lose_run(event.job, event.lost);
  log(record::Evicted{event.job, event.lost});
  news_.push_back(event);
  return true;
}

bool Engine::confirm_stop(const Event& event) {
  const auto stopping = tables_.stopping.find({event.job, event.run});
  if (stopping == tables_.stopping.end()) return false;
  const Tables::Stopping busy = stopping->second;
  log(record::Stopped{event.job, event.run});
  if (!busy.has_failed) return true;
  for (const auto& [node, gpus] : busy.gpus) bring_gpus_up(node, gpus);
  return true;
}

// The GPUs are as good as gone until the run is over.
bool Engine::fail_stop(const Event& event) {
  const auto stopping = tables_.stopping.find({event.job, event.run});
  if (stopping == tables_.stopping.end() || stopping->second.has_failed) return false;
  const Tables::Stopping busy = stopping->second;
  log(record::StopFailed{event.job, event.run, event.reason});
  for (const auto& [node, gpus] : busy.gpus) take_gpus_down(node, gpus);
  return true;
}

bool Engine::confirm_start(const Event& event) {
  if (!is_running(event.job, event.run) || !jobs_.is_starting(event.job)) return false;
  log(record::Started{event.job, event.overhead});
  known_.on_start(event.job, jobs_.last_gang(event.job), {});
  return true;
}

bool Engine::report(const Event& event) {
  if (!jobs_.is_here(event.job) || event.left.ms <= 0) return false;
  log(record::Reported{event.job, event.left});
  known_work_.on_report(event.job, event.left);
  return true;
}

bool Engine::fail_start(const Event& event) {
  const JobId job = event.job;
  if (!is_running(job, event.run)) return false;
  const auto failed = tables_.failed_starts.find(job);
  const std::uint32_t before = failed == tables_.failed_starts.end() ? 0 : failed->second;
  const std::int64_t doubled = options_.retry_first.ms << std::min<std::uint32_t>(before, 30);
  const Time retry = now_ + std::min(Duration{doubled}, options_.retry_max);
  std::vector<NodeId> nodes;
  for (Slice slice : jobs_.last_gang(job)) nodes.push_back(slice.node);
  lose_run(job);
  log(record::StartFailed{job, retry, event.reason});
  if (before + 1 >= options_.starts_max) {
    standstill_.on_end();
    log(record::Failed{job, event.reason});
  } else {
    retries_.push({retry, job});
  }
  news_.push_back(job_news(EventKind::kCancelled, job));
  for (NodeId node : nodes) {
    const auto on_node = tables_.failed_on.find(node);
    if (on_node == tables_.failed_on.end() || on_node->second.size() < options_.cordon_after) {
      continue;
    }
    cordon(node, event.reason);
  }
  return true;
}

bool Engine::cordon(NodeId node, std::string_view reason) {
  if (tables_.cordoned.contains(node)) return false;
  log(record::Cordoned{node, reason});
  return true;
}

bool Engine::uncordon(NodeId node) {
  if (!tables_.cordoned.contains(node)) return false;
  log(record::Uncordoned{node});
  refresh_capacity(node);
  return true;
}

bool Engine::take_gpus_down(NodeId node, std::uint64_t gpus) {
  const Tables::NodeState& state = tables_.nodes[node];
  const std::uint64_t down = gpus & state.up;
  if (down == 0) return false;
  // Jobs that still have some of these GPUs: their evictions were not reported, or never will be.
  if ((down & ~state.free) != 0) evict_from(node, down);
  const bool is_whole = down == state.has;
  log(record::GpusDown{node, is_whole ? kAllGpus : down});
  refresh_capacity(node);
  return true;
}

void Engine::evict_from(NodeId node, std::uint64_t gpus) {
  std::vector<JobId> victims;
  for (JobId job : tables_.running.members()) {
    const auto masks = std::as_const(jobs_.gangs).gpu_masks(jobs_.last[job]);
    std::size_t i = 0;
    for (Slice slice : jobs_.last_gang(job)) {
      if (slice.node == node && (masks[i] & gpus) != 0) victims.push_back(job);
      ++i;
    }
  }
  std::ranges::sort(victims);
  for (JobId job : victims) {
    steps_.push_back({.kind = Step::Kind::kStop, .job = job, .run = jobs_.run[job]});
    lose_run(job);
    log(record::Evicted{job, {}});
    news_.push_back(job_news(EventKind::kEvicted, job));
  }
}

bool Engine::bring_gpus_up(NodeId node, std::uint64_t gpus) {
  const Tables::NodeState& state = tables_.nodes[node];
  const std::uint64_t back = gpus & state.has & ~state.up;
  if (back == 0) return false;
  log(record::GpusUp{node, back == state.has ? kAllGpus : back});
  refresh_capacity(node);
  return true;
}

// The GPUs of the node that policies may count on have changed.
void Engine::refresh_capacity(NodeId node) {
  plan_.set_usable(node, tables_.nodes[node].usable());
  const auto usable = static_cast<std::uint32_t>(std::popcount(tables_.nodes[node].usable()));
  const std::uint32_t before = plan_.free_.capacity(node);
  if (usable == before) return;
  plan_.free_.set_gpus(node, usable);
  news_.push_back(
      {.kind = usable < before ? EventKind::kGpusDown : EventKind::kGpusUp, .node = node});
}

// GPUs of cordoned nodes that have fallen idle are not to be used again.
void Engine::close_idle_gpus() {
  for (NodeId node : tables_.cordoned) {
    const Tables::NodeState& state = tables_.nodes[node];
    const std::uint64_t idle = state.up & state.free & ~state.closed;
    if (idle == 0) continue;
    log(record::Closed{node, idle});
    refresh_capacity(node);
  }
}

// To be called before the record by which the tables lose the run.
void Engine::lose_run(JobId job, Duration lost) {
  plan_.world_took_away(job);
  known_.on_run_end(job);
  known_work_.on_run_end(job, lost);
  standstill_.on_run_end(job, jobs_.works_from[job], now_, lost, true);
}

// Takes a gang away without asking the policy.
void Engine::stop_now(JobId job, StopCause cause) {
  steps_.push_back({.kind = Step::Kind::kStop, .job = job, .run = jobs_.run[job]});
  lose_run(job);
  log(record::Stop{.job = job, .cause = cause, .is_reported = backend_->reports_steps()});
}

}  // namespace fairlead
