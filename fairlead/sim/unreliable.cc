#include "fairlead/sim/unreliable.h"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace fairlead {
namespace {

constexpr double kHour = 3'600'000;  // ms

}  // namespace

UnreliableBackend::UnreliableBackend(SimBackend& inside, const Cluster& cluster, const Users& users,
                                     const UnreliableOptions& options, std::uint64_t seed)
    : inside_(inside),
      cluster_(cluster),
      users_(users),
      options_(options),
      rng_(Rng(seed).split(0x6c617465)),
      users_told_(options.users_come > 0 ? 0 : users.size()),
      groups_told_(options.users_come > 0 ? 0 : users.groups.size()),
      gpus_lost_(cluster.nodes(), 0),
      down_inside_(cluster.nodes(), 0) {
  if (options_.gpu_losses_per_h > 0) {
    for (NodeId node : ids<NodeId>(cluster.nodes())) {
      const double at = rng_.exponential(kHour / options_.gpu_losses_per_h);
      deeds_.insert({Time{1 + std::llround(at)}, {.act = Act::kFailGpus, .node = node}});
    }
  }
  if (options_.operators_per_h > 0) {
    const double at = rng_.exponential(kHour / options_.operators_per_h);
    deeds_.insert({Time{1 + std::llround(at)}, {.act = Act::kOperate}});
  }
}

std::vector<JobSpec> UnreliableBackend::unsubmitted() const {
  std::vector<JobSpec> specs = inside_.unsubmitted();
  for (const auto& [at, notice] : notices_) {
    if (notice.event.kind == EventKind::kArrived) specs.push_back(notice.spec);
  }
  return specs;
}

Duration UnreliableBackend::drawn(Duration max) {
  if (max.ms <= 0 || is_calm(now_)) return {};
  return {static_cast<std::int64_t>(rng_.below(static_cast<std::uint64_t>(max.ms) + 1))};
}

bool UnreliableBackend::happens(double probability) {
  return probability > 0 && !is_calm(now_) && rng_.uniform() < probability;
}

// Reports an event of time `at` at a delayed time.
void UnreliableBackend::tell(Time at, const Event& event, const JobSpec& spec) {
  notices_.insert({at + drawn(options_.late_max), {event, spec}});
  if (happens(options_.repeat)) {
    notices_.insert({at + drawn({4 * options_.late_max.ms + 1000}), {event, spec}});
  }
}

UnreliableBackend::JobRun* UnreliableBackend::run_of(JobId job, RunId number) {
  const auto found = runs_.find({job, number});
  return found == runs_.end() ? nullptr : &found->second;
}

// Handles the events of the exact world.
void UnreliableBackend::see(const Batch& batch) {
  std::size_t arrivals = 0;
  for (const Event& event : batch.events) {
    if (event.kind == EventKind::kArrived) {
      jobs_.push_back(event.job);
      tell(batch.now, event, batch.jobs[arrivals++]);
      continue;
    }
    // GPUs that fail inside come back whole, whatever they had lost before.
    if (event.kind == EventKind::kGpusDown) down_inside_[event.node] |= event.gpus;
    if (event.kind == EventKind::kGpusUp) {
      down_inside_[event.node] &= ~event.gpus;
      gpus_lost_[event.node] &= ~event.gpus;
    }
    if (event.kind == EventKind::kFinished) done_.insert(event.job);
    if (event.kind == EventKind::kFinished || event.kind == EventKind::kEvicted) {
      runs_.erase({event.job, event.run});
    }
    tell(batch.now, event);
  }
}

// Returns the next instant with a notice or an action; never, if there is none.
Time UnreliableBackend::next_of_its_own() const {
  Time next = was_calmed_ ? Time::never() : std::max(now_, options_.calm_from);
  if (!notices_.empty()) next = std::min(next, notices_.begin()->first);
  if (!deeds_.empty()) next = std::min(next, deeds_.begin()->first);
  return next;
}

Batch UnreliableBackend::wait(Time until, bool awaited) {
  for (;;) {
    try_starts();
    const Time next = std::min(until, next_of_its_own());
    if (next > now_ || next == Time::never()) {
      const Batch batch = inside_.wait(next, awaited || is_unfinished());
      now_ = batch.now;
      if (batch.ended) return {.now = now_, .present = std::max(present_, now_), .ended = true};
      if (!batch.events.empty()) {
        see(batch);
        tell_speeds(inside_.expect(now_, {}));
        continue;
      }
    }
    now_ = std::max(now_, next);
    if (!was_calmed_ && is_calm(now_)) {
      calm_down();
    } else if (!deeds_.empty() && deeds_.begin()->first <= now_) {
      const Deed deed = deeds_.begin()->second;
      deeds_.erase(deeds_.begin());
      act(deed);
    } else if (!notices_.empty() && notices_.begin()->first <= now_) {
      return report(now_);
    } else {
      present_ = std::max(present_, until + drawn(options_.late_max));
      return {.now = until, .present = present_};
    }
  }
}

// True if something will still happen, although nothing runs inside. Endless failures and operations do not count.
bool UnreliableBackend::is_unfinished() const {
  if (!was_calmed_ && options_.calm_from != Time::never()) return true;
  const auto goes_on = [](const auto& entry) {
    return entry.second.act != Act::kFailGpus && entry.second.act != Act::kOperate;
  };
  return !notices_.empty() || !runs_.empty() || std::ranges::any_of(deeds_, goes_on);
}

Batch UnreliableBackend::report(Time now) {
  std::vector<Notice> due;
  while (!notices_.empty() && notices_.begin()->first <= now) {
    due.push_back(notices_.begin()->second);
    notices_.erase(notices_.begin());
  }
  std::ranges::stable_sort(due, {}, [](const Notice& notice) {
    return std::tuple(notice.event.kind, notice.event.job, notice.event.node);
  });
  if (happens(options_.shuffle)) {
    for (std::size_t i = due.size(); i > 1; --i) std::swap(due[i - 1], due[rng_.below(i)]);
  }
  reported_ = {};
  for (const Notice& notice : due) {
    reported_.events.push_back(notice.event);
    if (notice.event.kind != EventKind::kArrived) continue;
    reported_.jobs.push_back(notice.spec);
    for (; users_told_ <= notice.spec.user.row(); ++users_told_) {
      const UserId user(users_told_);
      const GroupId group = users_.group_of(user);
      for (; !group.is_none() && groups_told_ <= group.row(); ++groups_told_) {
        const GroupId told(groups_told_);
        const Groups& groups = users_.groups;
        reported_.groups.push_back(
            {told, groups.names[told], groups.tickets[told], groups.quota[told]});
      }
      reported_.users.push_back({user, users_.names[user], users_.tickets[user], group});
    }
  }
  present_ = std::max(present_, now);
  return {.now = now,
          .present = present_,
          .groups = reported_.groups,
          .users = reported_.users,
          .nodes = {},
          .jobs = reported_.jobs,
          .events = reported_.events};
}

std::span<const SpeedChange> UnreliableBackend::expect(Time /*now*/, std::span<Step> steps) {
  for (Step& step : steps) {
    if (step.kind == Step::Kind::kPlace) inside_.estimate(step);
  }
  return {};
}

void UnreliableBackend::carry_out(Time now, std::span<const Step> steps) {
  const Time at = std::max({now, present_, now_});
  for (const Step& step : steps) {
    step.kind == Step::Kind::kStop ? plan_stop(step, at) : plan_start(step, at);
  }
}

void UnreliableBackend::plan_stop(const Step& step, Time at) {
  LastRuns& last = last_runs_.grow_to(step.job);
  if (step.run <= last.stopped) return;
  last.stopped = step.run;
  if (JobRun* run = run_of(step.job, step.run)) run->is_stopping = true;
  const Time stopped = at + drawn(options_.stop_max);
  deeds_.insert({stopped, {.act = Act::kStop, .job = step.job, .run = step.run}});
}

void UnreliableBackend::plan_start(const Step& step, Time at) {
  LastRuns& last = last_runs_.grow_to(step.job);
  if (step.run <= last.started) return;
  JobRun& run = runs_[{step.job, step.run}];
  run.slices.insert(run.slices.end(), step.gang.begin(), step.gang.end());
  run.masks.insert(run.masks.end(), step.gpu_masks.begin(), step.gpu_masks.end());
  run.copies.push_back(step);
  if (step.copy + 1 < step.copies) return;
  last.started = step.run;
  const Time starts = at + drawn(options_.start_max);
  deeds_.insert({starts, {.act = Act::kStart, .job = step.job, .run = step.run}});
}

void UnreliableBackend::act(const Deed& deed) {
  switch (deed.act) {
    case Act::kStart: {
      JobRun* const run = run_of(deed.job, deed.run);
      if (run == nullptr || run->is_stopping) return;
      run->is_to_start = true;
      return;
    }
    case Act::kStop:
      return stop(deed.job, deed.run);
    case Act::kFailGpus:
      return fail_gpus(deed.node);
    case Act::kMendGpus: {
      const std::uint64_t back = deed.gpus & gpus_lost_[deed.node] & ~down_inside_[deed.node];
      if (back == 0) return;
      gpus_lost_[deed.node] &= ~back;
      return tell(now_, {.kind = EventKind::kGpusUp, .node = deed.node, .gpus = back});
    }
    case Act::kOperate:
      return operate();
  }
}

// A GPU is busy as long as a gang runs on it inside, even if the engine does not know it; the same applies to a job.
bool UnreliableBackend::are_free(JobId job, const JobRun& run) const {
  for (const auto& [key, other] : runs_) {
    if (!other.is_inside) continue;
    if (key.first == job) return false;
    for (std::size_t i = 0; i < run.slices.size(); ++i) {
      for (std::size_t k = 0; k < other.slices.size(); ++k) {
        if (run.slices[i].node == other.slices[k].node && (run.masks[i] & other.masks[k]) != 0) {
          return false;
        }
      }
    }
  }
  return true;
}

// Some of its GPUs.
bool UnreliableBackend::are_lost(const JobRun& run) const {
  for (std::size_t i = 0; i < run.slices.size(); ++i) {
    const NodeId node = run.slices[i].node;
    if (((gpus_lost_[node] | down_inside_[node]) & run.masks[i]) != 0) return true;
  }
  return false;
}

std::vector<UnreliableBackend::Running> UnreliableBackend::running() const {
  std::vector<Running> running;
  for (const auto& [key, run] : runs_) {
    if (run.is_inside) running.push_back({key.first, key.second, run.slices, run.masks});
  }
  return running;
}

void UnreliableBackend::try_starts() {
  for (auto at = runs_.begin(); at != runs_.end();) {
    const auto [job, number] = at->first;
    JobRun& run = at->second;
    ++at;  // a start that fails removes its run
    if (!run.is_to_start || run.is_inside || run.is_stopping) continue;
    if (are_free(job, run)) start(job, number, run);
  }
}

void UnreliableBackend::start(JobId job, RunId number, JobRun& run) {
  Event event{.kind = EventKind::kStartFailed, .job = job, .run = number};
  if (done_.contains(job)) {
    event.kind = EventKind::kFinished;
  } else if (are_lost(run)) {
    event.reason = "a GPU is gone";
  } else if (happens(options_.start_fails)) {
    event.reason = "it failed to start";
  } else {
    std::size_t at = 0;
    for (Step& step : run.copies) {
      const std::size_t size = step.gang.size();
      step.gang = Gang(run.slices).subspan(at, size);
      step.gpu_masks = std::span<const std::uint64_t>(run.masks).subspan(at, size);
      at += size;
    }
    run.is_inside = true;
    tell_speeds(inside_.expect(now_, run.copies));
    for (const Step& step : run.copies) event.overhead = std::max(event.overhead, step.overhead);
    event.kind = EventKind::kStarted;
    return tell(now_ + event.overhead, event);
  }
  runs_.erase({job, number});
  tell(now_, event);
}

void UnreliableBackend::end_inside(JobId job, RunId number) {
  Step step;
  step.job = job;
  step.run = number;
  tell_speeds(inside_.expect(now_, {&step, 1}));
}

// Reports the speeds of other gangs that share links with the gang that started or ended.
void UnreliableBackend::tell_speeds(std::span<const SpeedChange> changes) {
  for (const SpeedChange& change : changes) {
    for (const auto& [key, run] : runs_) {
      if (key.first != change.job || !run.is_inside) continue;
      Event event{.kind = EventKind::kProgress, .job = key.first, .run = key.second};
      event.rate = change.rate;
      tell(now_, event);
    }
  }
}

void UnreliableBackend::stop(JobId job, RunId number) {
  Event event{.kind = EventKind::kStopped, .job = job, .run = number};
  JobRun* const run = run_of(job, number);
  if (run != nullptr && run->is_inside && happens(options_.stop_fails)) {
    event.kind = EventKind::kStopFailed;
    event.reason = "it does not die";
    const Time again = now_ + Duration{1 + drawn(options_.stop_max).ms};
    deeds_.insert({again, {.act = Act::kStop, .job = job, .run = number}});
    return tell(now_, event);
  }
  if (run != nullptr && run->is_inside) end_inside(job, number);
  runs_.erase({job, number});
  tell(now_, event);
  // Its finish may have been reported for an earlier run, when this one had started.
  if (done_.contains(job)) tell(now_, {.kind = EventKind::kFinished, .job = job, .run = number});
}

// When the first of the node's lost GPUs come back; now, if none are to.
Time UnreliableBackend::next_mend(NodeId node) const {
  const auto mend = std::ranges::find_if(deeds_, [&](const auto& entry) {
    return entry.second.act == Act::kMendGpus && entry.second.node == node;
  });
  return mend == deeds_.end() ? now_ : mend->first;
}

// A node without GPUs has none to lose: its next loss comes after the first are back.
void UnreliableBackend::fail_gpus(NodeId node) {
  if (is_calm(now_)) return;
  const std::uint32_t has = cluster_.node_gpus[node];
  const std::uint64_t all = ~std::uint64_t{0} >> (kNodeGpusMax - has);
  const std::uint64_t here = all & ~gpus_lost_[node] & ~down_inside_[node];
  const double next = rng_.exponential(kHour / options_.gpu_losses_per_h);
  const Time from = here == 0 ? next_mend(node) : now_;
  deeds_.insert({from + Duration{1 + std::llround(next)}, {.act = Act::kFailGpus, .node = node}});
  const std::uint64_t lost = rng_.next() & here;
  if (lost == 0) return;
  gpus_lost_[node] |= lost;
  for (auto at = runs_.begin(); at != runs_.end();) {
    const auto [job, number] = at->first;
    const JobRun& run = at->second;
    ++at;
    if (!run.is_inside || !are_lost(run)) continue;
    end_inside(job, number);
    runs_.erase({job, number});
    tell(now_, {.kind = EventKind::kEvicted, .job = job, .run = number});
  }
  tell(now_, {.kind = EventKind::kGpusDown, .node = node, .gpus = lost});
  const Time back = now_ + Duration{1 + drawn(options_.gpus_back_max).ms};
  deeds_.insert({back, {.act = Act::kMendGpus, .node = node, .gpus = lost}});
}

// One of the things that users and operators do.
void UnreliableBackend::operate() {
  if (is_calm(now_)) return;
  const double next = rng_.exponential(kHour / options_.operators_per_h);
  deeds_.insert({now_ + Duration{1 + std::llround(next)}, {.act = Act::kOperate}});
  const NodeId node(rng_.below(cluster_.nodes()));
  const JobId job = jobs_.empty() ? JobId() : jobs_[rng_.below(jobs_.size())];
  switch (rng_.below(6)) {
    case 0:
      return tell(now_, {.kind = EventKind::kCordoned, .node = node, .reason = "by its operator"});
    case 1:
      return tell(now_, {.kind = EventKind::kUncordoned, .node = node});
    case 2:
      if (users_told_ == 0) return;
      return tell(now_, {.kind = EventKind::kTickets,
                         .user = UserId(rng_.below(users_told_)),
                         .tickets = 1 + static_cast<std::int64_t>(rng_.below(5))});
    case 3:
      if (!job.is_none() && rng_.below(4) == 0) {
        tell(now_, {.kind = EventKind::kCancelled, .job = job});
      }
      return;
    case 4:
      if (job.is_none()) return;
      return tell(now_, {.kind = EventKind::kHeld, .job = job});
    default:
      if (job.is_none()) return;
      return tell(now_, {.kind = EventKind::kReleased, .job = job});
  }
}

// Follows all pending notices, and undoes any of them: jobs, nodes and GPUs that are not held, cordoned or down ignore
// it.
void UnreliableBackend::calm_down() {
  was_calmed_ = true;
  const Time last = notices_.empty() ? now_ : std::max(now_, notices_.rbegin()->first);
  // Also releases jobs whose hold was reported after their release.
  for (JobId job : jobs_) {
    notices_.insert({last, {{.kind = EventKind::kReleased, .job = job}, {}}});
  }
  for (NodeId node : ids<NodeId>(cluster_.nodes())) {
    notices_.insert({last, {{.kind = EventKind::kUncordoned, .node = node}, {}}});
    gpus_lost_[node] = 0;
    Event event{.kind = EventKind::kGpusUp, .node = node};
    event.gpus = ~down_inside_[node];
    if (event.gpus != 0) notices_.insert({last, {event, {}}});
  }
}

}  // namespace fairlead
