#include "fairlead/sim/sim_backend.h"

#include "fairlead/sim/cpu_limits.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace fairlead {
namespace {

Event run_event(EventKind kind, JobId job, RunId run) {
  return {.kind = kind, .job = job, .run = run};
}

}  // namespace

SimBackend::SimBackend(const Cluster& cluster, const Workload& workload, const Speed& speed,
                       SimOptions options)
    : workload_(workload),
      speed_(speed),
      options_(std::move(options)),
      limits_(options_.resources_ignored ? TaskLimits()
                                         : cpu_limits(stated_resources(cluster, workload))),
      faults_(cluster, options_.faults, options_.seed),
      runs_(workload.jobs.size()) {
  if (options_.network.kind == NetworkKind::kContention) {
    network_.emplace(cluster, speed, options_.network, workload.jobs.size());
  }
  FL_CHECK(workload.durations.size() == workload.jobs.size(), "{} durations of {} jobs",
           workload.durations.size(), workload.jobs.size());
  left_.reserve(workload.jobs.size());
  arrivals_.reserve(workload.jobs.size());
  completions_.reserve(workload.jobs.size());
  for (JobId job : ids<JobId>(workload.jobs.size())) {
    left_.push_back(reference_work(workload.durations[job]));
    arrivals_.push_back(job);
  }
  std::ranges::stable_sort(arrivals_, {}, [&](JobId job) { return workload.jobs.arrival[job]; });
}

void SimBackend::hold_by(std::unique_ptr<LimitHolds> holds) {
  FL_CHECK(next_arrival_ == 0, "limits after the first arrival");
  holds_ = std::move(holds);
}

Time SimBackend::next_arrival() const {
  if (next_arrival_ == arrivals_.size()) return Time::never();
  return workload_.jobs.arrival[arrivals_[next_arrival_]];
}

Time SimBackend::next_finish() const {
  return completions_.empty() ? Time::never() : completions_.top().key;
}

// Nodes may go down and up for ever; they matter only while something waits for them.
bool SimBackend::only_nodes_change() const {
  const bool holds_change = holds_ && holds_->next() != Time::never();
  return next_arrival() == Time::never() && next_finish() == Time::never() && !holds_change &&
         faults_.all_up();
}

Batch SimBackend::wait(Time until, bool awaited) {
  FL_CHECK(until >= now_, "{} ms is before {} ms", until.ms, now_.ms);
  FL_CHECK(!network_ || network_->is_settled(), "{} ms is over without expect()", now_.ms);
  events_.clear();
  announced_.clear();
  // A failure may change nothing, for example the failure of a node whose rack is down.
  for (;;) {
    if (!awaited && only_nodes_change()) return {.now = now_, .present = now_, .ended = true};
    const Time holds = holds_ ? holds_->next() : Time::never();
    const Time next = std::min({next_arrival(), next_finish(), faults_.next(), holds});
    if (next > until) {
      now_ = until;
      return {.now = now_, .present = now_};
    }
    if (next == Time::never()) return {.now = now_, .present = now_, .ended = true};
    collect_events(next);
    if (!events_.empty()) {
      return {.now = now_, .present = now_, .jobs = announced_, .events = events_};
    }
  }
}

void SimBackend::collect_events(Time now) {
  FL_CHECK(now >= now_, "an event at {} ms comes at {} ms", now.ms, now_.ms);
  now_ = now;
  collect_finished();
  collect_node_changes();
  collect_arrivals();
  FL_DCHECK(std::ranges::is_sorted(events_, {}, &Event::kind));
  if (holds_) holds_->add_to(events_);
}

void SimBackend::collect_finished() {
  while (!completions_.empty() && completions_.top().key == now_) {
    const JobId job = completions_.pop().id;
    end_run(job);
    FL_CHECK(left_[job].fixed <= 0, "job {} finishes with work left", job.row());
    left_[job] = {};
    events_.push_back(run_event(EventKind::kFinished, job, runs_[job].number));
    if (holds_) holds_->finish(job);
  }
}

void SimBackend::collect_node_changes() {
  const std::size_t first = events_.size();
  if (faults_.next() != now_) return;
  for (const Faults::Change& change : faults_.pop()) {
    if (!change.up) evict_from(change.node, change.gpus);
    Event event{.kind = change.up ? EventKind::kGpusUp : EventKind::kGpusDown, .node = change.node};
    event.gpus = change.gpus;
    events_.push_back(event);
  }
  std::sort(events_.begin() + static_cast<std::ptrdiff_t>(first), events_.end(),
            [](const Event& a, const Event& b) {
              return std::tie(a.kind, a.job, a.node) < std::tie(b.kind, b.job, b.node);
            });
}

void SimBackend::evict_from(NodeId node, std::uint64_t gpus) {
  victims_.clear();
  for (const auto& [finish, job] : completions_.entries()) {
    const Gang gang = gangs_.gang(runs_[job].gang);
    const auto slice = std::ranges::find(gang, node, &Slice::node);
    if (slice == gang.end()) continue;
    const auto masks = std::as_const(gangs_).gpu_masks(runs_[job].gang);
    if ((masks[static_cast<std::size_t>(slice - gang.begin())] & gpus) != 0) {
      victims_.push_back(job);
    }
  }
  for (JobId job : victims_) {
    // The work since the last checkpoint of this run is lost: the job goes back to that moment.
    const JobRun& run = runs_[job];
    const Duration ran{std::max<std::int64_t>(0, (now_ - run.works_from).ms)};
    const std::int64_t interval = checkpoint_every(job).ms;
    const Duration lost{interval == 0 ? 0 : ran.ms % interval};
    const Work undone =
        rates_.done_in_last(job, lost, {.from = run.progress_from, .to = now_, .rate = run.rate});
    end_run(job);
    left_[job] += undone;
    FL_CHECK(left_[job] <= reference_work(workload_.durations[job]),
             "job {} loses work it never did", job.row());
    Event event = run_event(EventKind::kEvicted, job, run.number);
    event.lost = lost;
    events_.push_back(event);
  }
}

void SimBackend::collect_arrivals() {
  for (; next_arrival_ < arrivals_.size(); ++next_arrival_) {
    const JobId job = arrivals_[next_arrival_];
    if (workload_.jobs.arrival[job] != now_) return;
    events_.push_back({.kind = EventKind::kArrived, .job = job});
    announced_.push_back(spec_of(job));
  }
}

JobSpec SimBackend::spec_of(JobId job) const {
  JobSpec spec = workload_.jobs.asked(job);
  spec.name = workload_.names[job];
  if (const ModelId model = workload_.jobs.model[job]; !model.is_none())
    spec.model = workload_.models[model];
  spec.work = workload_.durations[job];
  return spec;
}

std::vector<JobSpec> SimBackend::unsubmitted() const {
  std::vector<JobSpec> specs;
  for (std::size_t i = next_arrival_; i < arrivals_.size(); ++i) {
    specs.push_back(spec_of(arrivals_[i]));
  }
  return specs;
}

std::span<const SpeedChange> SimBackend::expect(Time now, std::span<Step> steps) {
  FL_CHECK(now >= now_, "steps of {} ms come at {} ms", now.ms, now_.ms);
  now_ = now;
  for (Step& step : steps) {
    step.kind == Step::Kind::kStop ? end_run(step.job) : begin_run(now, step);
  }
  // A gang's share of its links is known once all steps have started and stopped gangs.
  change_rates();
  for (Step& step : steps) {
    if (step.kind == Step::Kind::kPlace) start(step);
  }
  if (holds_ && !steps.empty()) holds_->decide(now);
  return speed_changes_;
}

void SimBackend::estimate(Step& step) const {
  step.rate = speed_.rate(step.job, step.gang);
  if (step.copies > 1) step.rate = options_.costs.rate_of_copy(step.rate);
  FL_CHECK(step.rate.fixed > 0, "job {} was placed where it cannot run", step.job.row());
  step.locality = speed_.locality(step.job, step.gang);
  step.overhead = options_.costs.overhead(step.place, gpus_of(step.gang), speed_.profile(step.job));
  if (const Work lost = lost_work(step); lost.fixed > 0)
    step.overhead = step.overhead + time_to_finish(lost, step.rate);
}

Duration SimBackend::checkpoint_every(JobId job) const {
  const std::uint32_t own_s = workload_.jobs.extras_of(job).checkpoint_every_s;
  return own_s > 0 ? seconds(own_s) : options_.faults.checkpoint_interval;
}

// Returns the work that a run has to repeat first.
Work SimBackend::lost_work(const Step& step) const {
  if (!unsaved_.has(step.job)) return {};
  const Unsaved& unsaved = unsaved_[step.job];
  return step.place == PlaceKind::kMigrate ? unsaved.lost + unsaved.done : unsaved.lost;
}

// Notes, at the end of a run, the work since the last checkpoint.
void SimBackend::note_unsaved(JobId job) {
  const Duration every = seconds(workload_.jobs.extras_of(job).checkpoint_every_s);
  if (every.ms == 0) return;
  if (!unsaved_.has(job)) unsaved_.resize(job.row() + 1);
  Unsaved& unsaved = unsaved_[job];
  const JobRun& run = runs_[job];
  if (now_ < run.works_from) {
    unsaved.lost = std::min(unsaved.lost, progress(run.rate, run.works_from - now_));
    return;
  }
  const Duration ran = now_ - run.works_from;
  const bool saved = unsaved.ran + ran >= every;
  unsaved.ran = {(unsaved.ran + ran).ms % every.ms};
  unsaved.done = progress(run.rate, saved ? unsaved.ran : ran) + (saved ? Work() : unsaved.done);
  unsaved.lost = {};
}

// Copies add their speeds and begin together, when the last of them is ready.
void SimBackend::begin_run(Time now, Step& step) {
  estimate(step);
  FL_CHECK(!completions_.contains(step.job), "job {} runs already", step.job.row());
  JobRun& run = runs_[step.job];
  if (step.copy == 0) {
    if (unsaved_.has(step.job) && step.place != PlaceKind::kResume)
      unsaved_[step.job] = {.lost = lost_work(step)};
    run = {.number = step.run, .works_from = now, .progress_from = now};
  }
  if (holds_) holds_->begin_run(step.job, step.gang);
  if (keeps_gangs()) {
    if (step.copy > 0) {
      run.gang = gangs_.append(run.gang, step.gang, step.gpu_masks, step.copy);
    } else {
      run.gang = gangs_.add(step.gang);
      std::ranges::copy(step.gpu_masks, gangs_.gpu_masks(run.gang).begin());
    }
  }
  run.works_from = run.progress_from = std::max(run.works_from, now + step.overhead);
  run.alone.fixed += step.rate.fixed;
  if (network_) network_->begin(step.job, step.copy, step.gang, step.rate);
}

void SimBackend::start(Step& step) {
  if (const auto* share = network_ ? network_->share(step.job, step.copy) : nullptr) {
    step.rate = share->rate;
    step.locality = share->locality;
  }
  JobRun& run = runs_[step.job];
  run.rate.fixed += step.rate.fixed;
  if (step.copy + 1 < step.copies) return;
  FL_CHECK(left_[step.job].fixed > 0, "job {} has no work left", step.job.row());
  completions_.set(step.job, run.progress_from + time_to_finish(left_[step.job], run.rate));
}

// Settles the job's work at now_.
void SimBackend::end_run(JobId job) {
  note_unsaved(job);
  left_[job] = left_at(job, now_);
  completions_.erase(job);
  rates_.clear(job);
  if (holds_) holds_->end_run(gangs_.gang(runs_[job].gang));
  gangs_.release(std::exchange(runs_[job].gang, {}));
  if (network_) network_->end(job);
}

// Gives the jobs that run the speeds that contention leaves them now, and lists the changes.
void SimBackend::change_rates() {
  speed_changes_.clear();
  if (!network_) return;
  for (JobId job : network_->update()) {
    if (!completions_.contains(job)) continue;  // it starts just now
    const Rate rate{runs_[job].alone.fixed - network_->lost(job).fixed};
    if (rate == runs_[job].rate) continue;
    change_rate(job, rate);
    speed_changes_.push_back({job, rate});
  }
}

void SimBackend::change_rate(JobId job, Rate rate) {
  JobRun& run = runs_[job];
  if (now_ > run.progress_from) {
    left_[job] = left_at(job, now_);
    // Only if a failure may undo this progress.
    if (options_.faults.checkpoint_interval.ms > 0 && faults_.next() != Time::never()) {
      rates_.add(job, {.from = run.progress_from, .to = now_, .rate = run.rate});
    }
    run.progress_from = now_;
  }
  run.rate = rate;
  completions_.set(job, run.progress_from + time_to_finish(left_[job], rate));
}

Work SimBackend::left_at(JobId job, Time now) const {
  const JobRun& run = runs_[job];
  if (now <= run.progress_from) return left_[job];
  return left_[job] - progress(run.rate, now - run.progress_from);
}

Duration SimBackend::remaining(JobId job) const {
  if (!completions_.contains(job)) return reference_duration(left_[job]);
  return reference_duration(left_at(job, now_));
}

}  // namespace fairlead
