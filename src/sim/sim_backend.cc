#include "sim/sim_backend.h"

#include <algorithm>
#include <tuple>

namespace fairlead {
namespace {

Event job_event(EventKind kind, JobId job) { return {.kind = kind, .job = job}; }

}  // namespace

SimBackend::SimBackend(const Cluster& cluster, const Workload& workload, const Speed& speed,
                       SimOptions options)
    : workload_(workload),
      speed_(speed),
      options_(std::move(options)),
      faults_(cluster, options_.faults, options_.seed),
      holds_(workload.jobs.size()) {
  left_.reserve(workload.jobs.size());
  arrivals_.reserve(workload.jobs.size());
  completions_.reserve(workload.jobs.size());
  for (JobId job : ids<JobId>(workload.jobs.size())) {
    left_.push_back(reference_work(workload.durations[job]));
    arrivals_.push_back(job);
  }
  std::ranges::stable_sort(arrivals_, {}, [&](JobId job) { return workload.jobs.arrival[job]; });
}

Batch SimBackend::wait(Time until, bool awaited) {
  const Time arrival = next_arrival_ == arrivals_.size()
                           ? Time::never()
                           : workload_.jobs.arrival[arrivals_[next_arrival_]];
  const Time finish = completions_.empty() ? Time::never() : completions_.top().key;
  events_.clear();
  // Nodes may go down and up for ever; they matter only while something waits for them.
  if (!awaited && arrival == Time::never() && finish == Time::never() && faults_.all_up()) {
    return {.now = now_, .ended = true};
  }
  const Time next = std::min({arrival, finish, faults_.next()});
  if (next > until) {
    now_ = until;
    return {.now = now_};
  }
  if (next == Time::never()) return {.now = now_, .ended = true};
  now_ = next;
  collect_finished();
  collect_node_changes();
  collect_arrivals();
  return {.now = now_, .events = events_};
}

void SimBackend::collect_finished() {
  while (!completions_.empty() && completions_.top().key == now_) {
    const JobId job = completions_.pop().id;
    left_[job] = {};
    events_.push_back(job_event(EventKind::kFinished, job));
  }
}

void SimBackend::collect_node_changes() {
  const std::size_t first = events_.size();
  while (faults_.next() == now_) {
    const Faults::Change change = faults_.pop();
    if (!change.up) evict_from(change.node);
    events_.push_back(
        {.kind = change.up ? EventKind::kNodeUp : EventKind::kNodeDown, .node = change.node});
  }
  std::sort(events_.begin() + static_cast<std::ptrdiff_t>(first), events_.end(),
            [](const Event& a, const Event& b) {
              return std::tie(a.kind, a.job, a.node) < std::tie(b.kind, b.job, b.node);
            });
}

void SimBackend::evict_from(NodeId node) {
  victims_.clear();
  for (const auto& [finish, job] : completions_.entries()) {
    const Gang gang = workload_.jobs.last_gang(job);
    if (std::ranges::find(gang, node, &Slice::node) != gang.end()) victims_.push_back(job);
  }
  for (JobId job : victims_) {
    // The work since the last checkpoint of this hold is lost: the job goes back to that moment.
    const Duration ran{std::max<std::int64_t>(0, (now_ - holds_[job].progress_from).ms)};
    const std::int64_t interval = options_.faults.checkpoint_interval.ms;
    const Duration lost{interval == 0 ? 0 : ran.ms % interval};
    settle(job, now_ - lost);
    Event event = job_event(EventKind::kEvicted, job);
    event.lost = lost;
    events_.push_back(event);
  }
}

void SimBackend::collect_arrivals() {
  for (; next_arrival_ < arrivals_.size(); ++next_arrival_) {
    const JobId job = arrivals_[next_arrival_];
    if (workload_.jobs.arrival[job] != now_) return;
    events_.push_back(job_event(EventKind::kArrived, job));
  }
}

void SimBackend::apply(Time now, std::span<Step> steps) {
  for (Step& step : steps) {
    if (step.kind == Step::Kind::kStop) {
      settle(step.job, now);
      continue;
    }
    place(now, step);
  }
}

// Copies add their speeds and begin together, when the last of them is ready.
void SimBackend::place(Time now, Step& step) {
  step.rate = speed_.rate(step.job, step.gang);
  if (step.copies > 1) step.rate = options_.costs.rate_of_copy(step.rate);
  FL_CHECK(step.rate.fixed > 0, "job {} was placed where it cannot run", step.job.row());
  step.locality = speed_.locality(step.job, step.gang);
  step.dead = options_.costs.dead_time(step.place, gpus_of(step.gang), speed_.profile(step.job));
  Hold& hold = holds_[step.job];
  if (step.copy == 0) hold = {.progress_from = now, .rate = {}};
  hold.progress_from = std::max(hold.progress_from, now + step.dead);
  hold.rate.fixed += step.rate.fixed;
  if (step.copy + 1 < step.copies) return;
  completions_.set(step.job, hold.progress_from + time_to_finish(left_[step.job], hold.rate));
}

void SimBackend::settle(JobId job, Time now) {
  left_[job] = left_at(job, now);
  completions_.erase(job);
}

Work SimBackend::left_at(JobId job, Time now) const {
  const Hold& hold = holds_[job];
  if (now <= hold.progress_from) return left_[job];
  return left_[job] - progress(hold.rate, now - hold.progress_from);
}

Duration SimBackend::remaining(JobId job) const {
  if (!completions_.contains(job)) return reference_duration(left_[job]);
  return reference_duration(left_at(job, now_));
}

}  // namespace fairlead
