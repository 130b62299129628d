#include "fairlead/engine/engine.h"

#include <algorithm>
#include <bit>

namespace fairlead {
namespace {

// The lowest `count` set bits of `mask`.
std::uint64_t lowest_bits(std::uint64_t mask, std::uint32_t count) {
  std::uint64_t taken = 0;
  for (; count > 0; --count) {
    FL_CHECK(mask != 0, "a node has fewer free GPUs than its index says");
    const std::uint64_t bit = mask & (0 - mask);
    taken |= bit;
    mask ^= bit;
  }
  return taken;
}

bool equal(Gang a, Gang b) { return std::ranges::equal(a, b); }

}  // namespace

void Engine::JobSet::insert(JobId job) {
  slots_[job] = static_cast<std::uint32_t>(members_.size());
  members_.push_back(job);
}

void Engine::JobSet::erase(JobId job) {
  const std::uint32_t slot = slots_[job];
  FL_CHECK(slot < members_.size() && members_[slot] == job);
  members_[slot] = members_.back();
  slots_[members_[slot]] = slot;
  members_.pop_back();
}

Engine::Engine(const Cluster& cluster, Workload& workload, const Speed& speed, Policy& policy,
               Backend& backend, RecordSink& journal, Time until, const ProfileOptions& profiles,
               const WorkOptions& work)
    : cluster_(cluster),
      workload_(workload),
      jobs_(workload.jobs),
      known_(speed, cluster, workload.jobs, policy.needs().rates, profiles),
      known_work_(workload.jobs, backend.exact_work(), policy.needs().work.best, work),
      policy_(&policy),
      backend_(backend),
      journal_(journal),
      until_(until),
      plan_(cluster, workload.jobs),
      waiting_(workload.jobs.size()),
      running_(workload.jobs.size()),
      changed_at_(workload.jobs.size(), -1),
      standstill_(workload.jobs.size()) {
  jobs_.start_serving();
  for (std::uint16_t gpus : cluster.node_gpus) {
    gpus_free_.push_back(gpus == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << gpus) - 1);
  }
}

void Engine::begin(const RunLabel& label) {
  std::vector<std::string> names = {label.policy, label.options, label.cluster, label.trace};
  names.insert(names.end(), cluster_.type_names.begin(), cluster_.type_names.end());
  Record run;
  run.kind = RecordKind::kRun;
  run.seed = label.seed;
  run.count = static_cast<std::uint32_t>(jobs_.size());
  run.names = names;
  journal_.on(run);
  for (UserId id : ids<UserId>(workload_.users.size())) {
    Record user;
    user.kind = RecordKind::kUser;
    user.user = id;
    user.name = workload_.users.names[id];
    user.tickets = workload_.users.tickets[id];
    journal_.on(user);
  }
  for (NodeId id : ids<NodeId>(cluster_.nodes())) {
    Record node;
    node.kind = RecordKind::kNode;
    node.node = id;
    node.name = cluster_.node_names[id];
    node.type = cluster_.node_type[id];
    node.host = cluster_.node_host[id];
    node.rack = cluster_.node_rack[id];
    node.count = cluster_.node_gpus[id];
    journal_.on(node);
  }
}

Result<bool> Engine::step() {
  const Time wake = wakes_.empty() ? Time::never() : wakes_.top();
  // Where nothing else can happen, a wake-up matters only to jobs that wait.
  const bool awaited = wake != Time::never() && wake <= until_ && !waiting_.members().empty();
  const Batch batch = backend_.wait(std::min(wake, until_), awaited);
  if (batch.ended) return false;
  now_ = batch.now;
  known_work_.set_now(now_);
  const bool woken = wake == now_;
  if (batch.events.empty() && !woken) return false;  // the clock reached `until`
  news_.clear();
  apply_events(batch.events);
  if (woken) {
    while (!wakes_.empty() && wakes_.top() == now_) wakes_.pop();
    news_.push_back({.kind = EventKind::kWoke});
  }
  FL_TRY(decide(batch.events.empty()));
  return true;
}

void Engine::end() {
  job_counts_.pending = static_cast<std::int64_t>(jobs_.size()) - job_counts_.finished -
                        job_counts_.failed - job_counts_.rejected;
  // A run that is cut off ends at `until` even if its last event came earlier.
  if (until_ != Time::never()) now_ = std::max(now_, until_);
  for (JobId job : ids<JobId>(jobs_.size())) {
    if (jobs_.state[job] != JobState::kUnsubmitted) continue;
    emit_job(RecordKind::kUnsubmitted, job, {});
    ++job_counts_.unsubmitted;
  }
  Record record;
  record.kind = RecordKind::kEnd;
  record.t = now_;
  record.counts = job_counts_;
  journal_.on(record);
}

void Engine::apply_events(std::span<const Event> events) {
  counts_.events += static_cast<std::int64_t>(events.size());
  for (const Event& event : events) apply_event(event);
}

void Engine::apply_event(const Event& event) {
  switch (event.kind) {
    case EventKind::kFinished:
      emit(RecordKind::kFinished, event.job);
      leave(event.job, JobState::kFinished);
      break;
    case EventKind::kFailed:
      emit(RecordKind::kFailed, event.job);
      leave(event.job, JobState::kFailed);
      break;
    case EventKind::kCancelled:
      emit(RecordKind::kCancelled, event.job);
      leave(event.job, JobState::kCancelled);
      break;
    case EventKind::kEvicted:
    case EventKind::kStartFailed: {
      Record record;
      record.kind = RecordKind::kEvicted;
      record.t = now_;
      record.job = event.job;
      record.lost = event.lost;
      journal_.on(record);
      plan_.world_took_away(event.job);
      end_hold(event.job, event.lost);
      // What its hosts kept of it is gone, so it starts anew, wherever that is.
      jobs_.gangs.release(jobs_.last[event.job]);
      jobs_.last[event.job] = {};
      break;
    }
    case EventKind::kNodeDown:
    case EventKind::kNodeUp: {
      const bool down = event.kind == EventKind::kNodeDown;
      Record record;
      record.kind = down ? RecordKind::kNodeDown : RecordKind::kNodeUp;
      record.t = now_;
      record.node = event.node;
      journal_.on(record);
      down ? plan_.free_.set_down(event.node) : plan_.free_.set_up(event.node);
      break;
    }
    case EventKind::kProgress:  // for the journal: nothing for a policy to decide on
      return change_speed(event.job, event.rate);
    case EventKind::kArrived:
      return arrive(event.job);
    case EventKind::kStopped:
    case EventKind::kStarted:
    case EventKind::kWoke:
      break;
  }
  news_.push_back(event);
}

void Engine::arrive(JobId job) {
  FL_CHECK(jobs_.state[job] == JobState::kUnsubmitted, "job {} arrived twice", job.row());
  if (const std::string_view reason = unrunnable(job); !reason.empty()) {
    emit_job(RecordKind::kRejected, job, reason);
    jobs_.state[job] = JobState::kRejected;
    ++job_counts_.rejected;
    return;
  }
  standstill_.on_progress();
  known_work_.on_arrived(job, workload_.durations[job]);
  emit_job(RecordKind::kArrived, job, {});
  jobs_.state[job] = JobState::kWaiting;
  waiting_.insert(job);
  news_.push_back({.kind = EventKind::kArrived, .job = job});
}

std::string_view Engine::unrunnable(JobId job) const {
  const std::uint32_t smallest = policy_->needs().elastic ? jobs_.gpus_min[job] : jobs_.gpus[job];
  if (smallest > cluster_.gpus) return "larger than the cluster";
  if (jobs_.types[job] == 0) return "its model runs on no GPU type of the cluster";
  std::uint32_t gpus = 0;
  for (GpuTypeId type : ids<GpuTypeId>(cluster_.type_names.size())) {
    if ((jobs_.types[job] & type_bit(type)) != 0) gpus += cluster_.type_gpus[type];
  }
  if (smallest > gpus) return "larger than the GPU types its model runs on";
  return {};
}

void Engine::leave(JobId job, JobState state) {
  if (jobs_.state[job] == JobState::kRunning) {
    plan_.world_took_away(job);
    end_hold(job);
  }
  FL_CHECK(jobs_.state[job] == JobState::kWaiting, "job {} is not here", job.row());
  standstill_.on_progress();
  waiting_.erase(job);
  jobs_.gangs.release(jobs_.last[job]);
  jobs_.last[job] = {};
  jobs_.state[job] = state;
  if (state == JobState::kFinished) known_work_.on_finished(job);
  ++(state == JobState::kFinished ? job_counts_.finished : job_counts_.failed);
}

void Engine::end_hold(JobId job, Duration lost) {
  FL_CHECK(jobs_.state[job] == JobState::kRunning, "job {} does not run", job.row());
  const GangRef ref = jobs_.last[job];
  const auto masks = jobs_.gangs.gpu_masks(ref);
  std::size_t i = 0;
  for (Slice slice : jobs_.gangs.gang(ref)) {
    FL_CHECK((gpus_free_[slice.node] & masks[i]) == 0);
    gpus_free_[slice.node] |= masks[i++];
  }
  standstill_.on_hold_end(job, now_);
  known_work_.on_hold_end(job, lost);
  jobs_.attained_settled[job] = jobs_.attained(job, now_);
  jobs_.held_gpus[job] = 0;
  jobs_.state[job] = JobState::kWaiting;
  running_.erase(job);
  waiting_.insert(job);
}

Status Engine::decide(bool only_woke) {
  plan_.begin(now_);
  known_.set_now(now_);
  const View view{.now = now_,
                  .cluster = cluster_,
                  .users = workload_.users,
                  .jobs = jobs_,
                  .speed = known_,
                  .work = known_work_,
                  .news = news_,
                  .waiting = waiting_.members(),
                  .running = running_.members()};
  policy_->decide(view, plan_);
  ++counts_.decisions;
  collect_changes();
  drop_unchanged();
  const bool keeps_the_rules = plan_.misuse().what.empty() && plan_.open_.empty();
  if (!keeps_the_rules || !changes_.empty()) FL_TRY(check_plan());
  for (Time wake : plan_.wakes_) wakes_.push(wake);
  commit();
  for (const Note& note : plan_.notes_) {
    Record record;
    record.kind = RecordKind::kNote;
    record.t = now_;
    record.note = note;
    journal_.on(record);
  }
  const bool all_up = plan_.free().capacity() == cluster_.gpus;
  if (!standstill_.after_decision(only_woke, all_up, running_.members(), now_)) return {};
  return run_error("policy {} has brought the jobs to a standstill at {} s: {}", policy_->name(),
                   to_seconds(now_), standstill_cause());
}

Status Engine::check_plan() {
  const Plan::Misuse& first = plan_.misuse();
  if (!first.what.empty()) return misuse(first.job, first.what);
  if (!plan_.open_.empty()) return misuse(JobId::none(), "decide: a gang is left open");
  for (const Change& change : changes_) {
    if (plan_.holds(change.job)) FL_TRY(check_gang(change.job));
  }
  return {};
}

Status Engine::check_gang(JobId job) const {
  const Gang held = plan_.gang(job);
  if (copies_of(held) > 1 && !policy_->needs().copies) {
    return misuse(job, "place_copy: its needs() do not ask for copies");
  }
  const bool elastic = policy_->needs().elastic;
  const std::uint32_t gpus_min = elastic ? jobs_.gpus_min[job] : jobs_.gpus[job];
  const std::uint32_t gpus_max = elastic ? jobs_.gpus_max[job] : jobs_.gpus[job];
  for (Gang left = held; !left.empty();) {
    const Gang gang = first_copy(left);
    left = left.subspan(gang.size());
    const std::uint32_t gpus = gpus_of(gang);
    if (gpus < gpus_min || gpus > gpus_max) {
      return misuse(job, fmt::format("place: a gang of {} GPUs, where {} to {} are allowed", gpus,
                                     gpus_min, gpus_max));
    }
  }
  for (Slice slice : held) {
    if ((jobs_.types[job] & type_bit(cluster_.node_type[slice.node])) == 0) {
      return misuse(job, fmt::format("place: its model does not run on node {}",
                                     cluster_.node_names[slice.node]));
    }
  }
  return {};
}

// What keeps the jobs from getting anywhere, and an example.
std::string Engine::standstill_cause() const {
  if (const JobId job = standstill_.stopped_early(); !job.is_none()) {
    return fmt::format(
        "no job has worked in its last {} decisions, as it stops each before the overhead of its "
        "start or move is over; a longer quantum or lower costs would let them: job {}",
        standstill_.idle(), workload_.names[job]);
  }
  if (waiting_.members().empty()) {
    return fmt::format("it asked to be woken {} times without a job that waits or works",
                       standstill_.idle());
  }
  const JobId job = std::ranges::min(waiting_.members());
  return fmt::format(
      "it was woken {} times without placing any of {} waiting jobs; {} GPUs are free, and the "
      "first that waits asks for {}: job {}",
      standstill_.idle(), waiting_.members().size(), plan_.free().total(), jobs_.gpus[job],
      workload_.names[job]);
}

tl::unexpected<Error> Engine::misuse(JobId job, std::string_view what) const {
  const std::string about =
      job.is_none() || !jobs_.user.has(job) ? "" : fmt::format(": job {}", workload_.names[job]);
  return run_error("policy {} broke a rule of Plan at {} s: {}{}", policy_->name(),
                   to_seconds(now_), what, about);
}

// Reduces the plan's edits to one change per job, and frees the gangs that lived only in the draft.
void Engine::collect_changes() {
  changes_.clear();
  for (const Plan::Edit& edit : plan_.edits_) {
    if (changed_at_[edit.job] == counts_.decisions) {
      jobs_.gangs.release(edit.before);  // placed and stopped again within this plan
      continue;
    }
    changed_at_[edit.job] = counts_.decisions;
    changes_.push_back({edit.job, edit.before});
  }
}

// Jobs that hold after all what they held before are no change.
void Engine::drop_unchanged() {
  std::erase_if(changes_, [this](const Change& change) {
    const GangRef after = plan_.held_[change.job];
    if (!equal(jobs_.gangs.gang(change.before), jobs_.gangs.gang(after))) return false;
    plan_.held_[change.job] = change.before;
    jobs_.gangs.release(after);
    return true;
  });
}

void Engine::commit() {
  steps_.clear();
  for (const Change& change : changes_) {
    if (!change.before.empty()) commit_stop(change.job);
  }
  for (const Change& change : changes_) {
    if (plan_.holds(change.job)) commit_place(change.job);
  }
  if (steps_.empty()) return;
  counts_.steps += static_cast<std::int64_t>(steps_.size());
  const std::span<const SpeedChange> changes = backend_.apply(now_, steps_);
  for (const Step& step : steps_) {
    if (step.kind == Step::Kind::kStop) {
      emit(RecordKind::kStop, step.job);
    } else {
      known_.on_hold(step.job, step.gang, step.overhead);
      known_work_.on_hold(step.job, step.rate, step.overhead);
      standstill_.on_hold(step.job, now_ + step.overhead);
      emit_place(step);
    }
  }
  for (const SpeedChange& change : changes) change_speed(change.job, change.rate);
}

void Engine::commit_stop(JobId job) {
  end_hold(job);
  Step step;
  step.kind = Step::Kind::kStop;
  step.job = job;
  steps_.push_back(step);
}

void Engine::commit_place(JobId job) {
  FL_CHECK(jobs_.state[job] == JobState::kWaiting, "job {} cannot be placed", job.row());
  const GangRef last = jobs_.last[job];
  const GangRef gang = plan_.held_[job];
  const bool same_slices = equal(jobs_.gangs.gang(last), jobs_.gangs.gang(gang));
  grant_gpus(job, gang, same_slices);
  jobs_.gangs.release(last);
  jobs_.last[job] = gang;
  jobs_.state[job] = JobState::kRunning;
  jobs_.held_since[job] = now_;
  jobs_.held_gpus[job] = gpus_of(jobs_.gangs.gang(gang));
  waiting_.erase(job);
  running_.insert(job);

  Step step;
  step.kind = Step::Kind::kPlace;
  step.job = job;
  step.place = last.empty()  ? PlaceKind::kStart
               : same_slices ? PlaceKind::kResume
                             : PlaceKind::kMigrate;
  Gang left = jobs_.gangs.gang(gang);
  std::span<const std::uint64_t> masks = jobs_.gangs.gpu_masks(gang);
  step.copies = copies_of(left);
  for (; !left.empty(); ++step.copy) {
    step.gang = first_copy(left);
    step.gpu_masks = masks.first(step.gang.size());
    left = left.subspan(step.gang.size());
    masks = masks.subspan(step.gang.size());
    steps_.push_back(step);
  }
}

void Engine::grant_gpus(JobId job, GangRef gang, bool same_slices) {
  const auto masks = jobs_.gangs.gpu_masks(gang);
  const auto last_masks = jobs_.gangs.gpu_masks(jobs_.last[job]);
  std::size_t i = 0;
  for (Slice slice : jobs_.gangs.gang(gang)) {
    std::uint64_t& free = gpus_free_[slice.node];
    const bool keep = same_slices && (free & last_masks[i]) == last_masks[i];
    masks[i] = keep ? last_masks[i] : lowest_bits(free, slice.gpus);
    free &= ~masks[i++];
  }
}

void Engine::emit(RecordKind kind, JobId job) {
  Record record;
  record.kind = kind;
  record.t = now_;
  record.job = job;
  journal_.on(record);
}

void Engine::emit_job(RecordKind kind, JobId job, std::string_view reason) {
  Record record;
  record.kind = kind;
  record.t = now_;
  record.job = job;
  record.user = jobs_.user[job];
  record.name = workload_.names[job];
  const ModelId model = jobs_.model[job];
  if (!model.is_none()) record.model_name = workload_.models[model];
  record.gpus = jobs_.gpus[job];
  record.gpus_min = jobs_.gpus_min[job];
  record.gpus_max = jobs_.gpus_max[job];
  record.work = workload_.durations[job];
  record.reason = reason;
  if (kind == RecordKind::kUnsubmitted) record.submit = jobs_.arrival[job];
  journal_.on(record);
}

void Engine::emit_place(const Step& step) {
  Record record;
  record.kind = RecordKind::kPlace;
  record.t = now_;
  record.job = step.job;
  record.place = step.place;
  record.copy = step.copy;
  record.gang = step.gang;
  record.gpu_masks = step.gpu_masks;
  record.rate = step.rate;
  record.overhead = step.overhead;
  record.locality = step.locality;
  journal_.on(record);
}

void Engine::change_speed(JobId job, Rate rate) {
  known_work_.on_rate(job, rate);
  Record record;
  record.kind = RecordKind::kSpeed;
  record.t = now_;
  record.job = job;
  record.rate = rate;
  journal_.on(record);
}

}  // namespace fairlead
