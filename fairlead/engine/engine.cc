#include "fairlead/engine/engine.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace fairlead {
namespace {

// The lowest `count` set bits of `mask`.
std::uint64_t lowest_bits(std::uint64_t mask, std::uint32_t count) {
  std::uint64_t taken = 0;
  for (; count > 0; --count) {
    FL_CHECK(mask != 0, "a node has fewer free GPUs than its index lists");
    const std::uint64_t bit = mask & (0 - mask);
    taken |= bit;
    mask ^= bit;
  }
  return taken;
}

// The lowest `count` set bits of `mask`, bits of `last` only if the others are too few.
std::uint64_t lowest_bits(std::uint64_t mask, std::uint64_t last, std::uint32_t count) {
  const std::uint64_t first = mask & ~last;
  const auto firsts = static_cast<std::uint32_t>(std::popcount(first));
  if (firsts >= count) return lowest_bits(first, count);
  return first | lowest_bits(mask & last, count - firsts);
}

bool equal(Gang a, Gang b) { return std::ranges::equal(a, b); }

}  // namespace

Engine::Engine(Cluster cluster, const Speed* speed, Policy& policy, Backend& backend,
               RecordSink& journal, const EngineOptions& options)
    : tables_(std::move(cluster)),
      jobs_(tables_.jobs),
      known_(speed, tables_.cluster, jobs_, policy.needs().rates, options.profiles),
      known_work_(jobs_, backend.exact_work(), policy.needs().work.best, options.work),
      policy_(&policy),
      backend_(&backend),
      journal_(&journal),
      options_(options),
      plan_(tables_.cluster, jobs_) {
  jobs_.limits = backend.task_limits();
  tables_.reserve(options.jobs);
  plan_.reserve(options.jobs);
  known_.reserve(options.jobs);
  changed_at_.reserve(options.jobs);
}

void Engine::begin(const RunLabel& label, const Users& users) {
  const Cluster& cluster = tables_.cluster;
  log(record::Run{.seed = label.seed,
                  .jobs = label.jobs,
                  .policy = label.policy,
                  .options = label.options,
                  .cluster = label.cluster,
                  .trace = label.trace,
                  .gpu_types = {cluster.type_names.begin(), cluster.type_names.end()}});
  log_users(users);
  for (NodeId node : ids<NodeId>(cluster.nodes())) log(node_record(node));
}

void Engine::log_users(const Users& users) {
  const Groups& groups = users.groups;
  while (tables_.users.groups.size() < groups.size()) {
    const GroupId group(tables_.users.groups.size());
    log(record::Group{group, groups.names[group], groups.tickets[group], groups.quota[group]});
  }
  while (tables_.users.size() < users.size()) {
    const UserId user(tables_.users.size());
    log(record::User{user, users.names[user], users.tickets[user], users.group_of(user)});
  }
}

record::Node Engine::node_record(NodeId node) const {
  const Cluster& cluster = tables_.cluster;
  return {.node = node,
          .name = cluster.node_names[node],
          .type = cluster.node_type[node],
          .host = cluster.node_host[node],
          .rack = cluster.node_rack[node],
          .gpus = cluster.node_gpus[node]};
}

Time Engine::next_wake() const {
  const Time wake = wakes_.empty() ? Time::never() : wakes_.top();
  return retries_.empty() ? wake : std::min(wake, retries_.top().first);
}

Result<bool> Engine::step() {
  const Time wake = next_wake();
  Time target = std::min(wake, options_.until);
  // A policy that starts again has asked for nothing yet.
  if (restarts_policy_) target = std::min(std::max(now_ + milliseconds(1), present_), target);
  const bool skips = target < present_ && present_ - target > options_.slack;
  if (skips) target = std::min(present_, options_.until);
  // If nothing else can happen, a wake-up matters only to jobs that it may place.
  const bool awaited = wake <= options_.until && wake != Time::never() &&
                       !(tables_.waiting.members().empty() && retries_.empty());
  const Batch batch = backend_->wait(target, awaited);
  if (batch.ended) return false;
  now_ = std::max(now_, batch.now);
  // A world may report more events for an instant that was already decided.
  if (now_ == decided_ && !batch.events.empty()) now_ = now_ + milliseconds(1);
  known_.set_now(now_);
  known_work_.set_now(now_);
  present_ = std::max(present_, batch.present);
  counts_.late_max = std::max(counts_.late_max, present_ - now_);
  news_.clear();
  steps_.clear();
  if (skips && wake < now_) {
    log(record::Skipped{});
    ++counts_.skips;
  }
  admit(batch);
  const bool is_news = apply_events(batch);
  release_due();
  const bool woke = wake_up();
  close_idle_gpus();
  const bool restarts = restarts_policy_;
  if (restarts) tell_all_jobs();
  if (batch.events.empty() && !woke && news_.empty()) return now_ < options_.until || restarts;
  if (is_news || woke || !news_.empty()) FL_TRY(decide(batch.events.empty()));
  return check_work();
}

// Returns true if wake-ups that the policy asked for are due.
bool Engine::wake_up() {
  if (wakes_.empty() || wakes_.top() > now_) return false;
  while (!wakes_.empty() && wakes_.top() <= now_) wakes_.pop();
  news_.push_back({.kind = EventKind::kWoke});
  return true;
}

void Engine::end(const Users& users, std::span<const JobSpec> unsubmitted) {
  // A run that is cut off ends at `until` even if its last event came earlier.
  if (options_.until != Time::never()) now_ = std::max(now_, options_.until);
  JobCounts counts = tables_.counts;
  const std::int64_t here = std::ssize(tables_.waiting.members()) +
                            std::ssize(tables_.running.members()) + std::ssize(tables_.held_until);
  log_users(users);
  for (const JobSpec& spec : unsubmitted) {
    if (jobs_.has(spec.job)) continue;
    // A job that was not announced in time counts as submitted too late.
    log(record::Unsubmitted{.asked = spec, .submit = std::max(spec.submit, now_)});
    ++counts.unsubmitted;
  }
  counts.pending = here + counts.unsubmitted;
  log(record::End{counts});
}

Status Engine::decide(bool only_woke) {
  decided_ = now_;
  plan_.begin(now_, tables_.running.members());
  const View view{.now = now_,
                  .cluster = tables_.cluster,
                  .users = tables_.users,
                  .jobs = jobs_,
                  .speed = known_,
                  .work = known_work_,
                  .news = news_,
                  .waiting = tables_.waiting.members(),
                  .running = tables_.running.members()};
  policy_->decide(view, plan_);
  ++counts_.decisions;
  plan_.make_way(tables_.running.members());
  collect_changes();
  drop_unchanged();
  const bool keeps_the_rules = plan_.misuse().what.empty() && plan_.open_.empty();
  if (!keeps_the_rules || !changes_.empty()) FL_TRY(check_plan());
  for (Time wake : plan_.wakes_) wakes_.push(wake);
  commit();
  const bool all_up = plan_.free().capacity() == tables_.cluster.gpus;
  const Standstill::Jobs jobs{tables_.running.members(), jobs_.works_from, has_jobs(tables_)};
  if (!standstill_.is_idle(only_woke, all_up, jobs, now_)) return {};
  if (backend_->reports_steps()) {
    // A world with few reports can look like a standstill, so a daemon continues.
    standstill_.start_anew(now_);
    return {};
  }
  return run_error("policy {} has brought the jobs to a standstill at {} s: {}", policy_->name(),
                   to_seconds(now_), standstill_cause());
}

// Returns false if all jobs of the trace ended long ago: nodes may go on failing for ever. A real
// world may take its time.
Result<bool> Engine::check_work() {
  const JobCounts& counts = tables_.counts;
  const std::int64_t ended = counts.finished + counts.failed + counts.rejected;
  if (!has_jobs(tables_) && ended == static_cast<std::int64_t>(options_.jobs)) {
    return standstill_.records() < Standstill::kRecordsMax;
  }
  const Standstill::Jobs jobs{tables_.running.members(), jobs_.works_from, has_jobs(tables_)};
  if (!standstill_.is_endless(jobs, now_)) return true;
  if (backend_->exact_work() == nullptr) {
    standstill_.start_anew(now_);
    return true;
  }
  return run_error(
      "the run gets nowhere under policy {}: in {} records and decisions from {} s to {} s, jobs "
      "worked {} s in total: {}",
      policy_->name(), standstill_.records(), to_seconds(standstill_.since()), to_seconds(now_),
      to_seconds(standstill_.work()), no_work_cause());
}

Status Engine::check_plan() {
  const Plan::Misuse& first = plan_.misuse();
  if (!first.what.empty()) return misuse(first.job, first.what);
  if (!plan_.open_.empty()) return misuse(JobId::none(), "decide: a gang is left open");
  for (const Change& change : changes_) {
    if (plan_.has_gang(change.job)) FL_TRY(check_gang(change.job));
  }
  return {};
}

Status Engine::check_gang(JobId job) const {
  const Gang present = plan_.gang(job);
  if (copies_of(present) > 1 && !policy_->needs().copies) {
    return misuse(job, "place_copy: its needs() do not ask for copies");
  }
  const std::uint32_t most = jobs_.extras_of(job).most_copies(tables_.cluster.nodes());
  if (copies_of(present) > most) {
    return misuse(
        job, fmt::format("place_copy: {} copies, where {} are allowed", copies_of(present), most));
  }
  const bool elastic = policy_->needs().elastic;
  const std::uint32_t gpus_min = elastic ? jobs_.gpus_min[job] : jobs_.gpus[job];
  const std::uint32_t gpus_max = elastic ? jobs_.gpus_max[job] : jobs_.gpus[job];
  for (Gang left = present; !left.empty();) {
    const Gang gang = first_copy(left);
    left = left.subspan(gang.size());
    const std::uint32_t gpus = gpus_of(gang);
    if ((gpus < gpus_min || gpus > gpus_max) && !jobs_.is_pinned(job)) {
      return misuse(job, fmt::format("place: a gang of {} GPUs, where {} to {} are allowed", gpus,
                                     gpus_min, gpus_max));
    }
  }
  for (Slice slice : present) {
    if ((jobs_.types[job] & type_bit(tables_.cluster.node_type[slice.node])) == 0) {
      return misuse(job, fmt::format("place: its model does not run on node {}",
                                     tables_.cluster.node_names[slice.node]));
    }
  }
  return {};
}

// Returns the reason why jobs do almost no work, the remedy, and an example.
std::string Engine::no_work_cause() const {
  if (standstill_.taken() > 0) {
    const std::span<const JobId> running = tables_.running.members();
    const std::span<const JobId> here = running.empty() ? tables_.waiting.members() : running;
    return fmt::format(
        "failures took their GPUs {} times, before they worked or reached a checkpoint; use rarer "
        "failures, or a lower start_s or checkpoint_interval_s. Example: job {}",
        standstill_.taken(), tables_.names[std::ranges::min(here)]);
  }
  const std::span<const JobId> waiting = tables_.waiting.members();
  if (!standstill_.stopped_early().is_none() || waiting.empty()) return standstill_cause();
  const JobId job = std::ranges::min(waiting);
  return fmt::format(
      "none of {} waiting jobs was placed; the first asks for {} GPUs, and {} of {} are up and "
      "open "
      "to jobs, {} of them free; use rarer or shorter failures. Example: job {}",
      waiting.size(), jobs_.gpus[job], plan_.free().capacity(), tables_.cluster.gpus,
      plan_.free().total(), tables_.names[job]);
}

// Returns the reason why no job makes progress, with an example.
std::string Engine::standstill_cause() const {
  if (const JobId job = standstill_.stopped_early(); !job.is_none()) {
    return fmt::format(
        "no job has worked in its last {} decisions: the policy stops each before the overhead of "
        "its start or move is over; use a longer quantum or lower costs. Example: job {}",
        standstill_.idle(), tables_.names[job]);
  }
  if (tables_.waiting.members().empty()) {
    return fmt::format("it asked to be woken {} times without a job that waits or works",
                       standstill_.idle());
  }
  const JobId job = std::ranges::min(tables_.waiting.members());
  return fmt::format(
      "it was woken {} times without placing any of {} waiting jobs; {} GPUs are free, and the "
      "first that waits asks for {}: job {}",
      standstill_.idle(), tables_.waiting.members().size(), plan_.free().total(), jobs_.gpus[job],
      tables_.names[job]);
}

tl::unexpected<Error> Engine::misuse(JobId job, std::string_view what) const {
  const std::string about =
      job.is_none() || !jobs_.user.has(job) ? "" : fmt::format(": job {}", tables_.names[job]);
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
    changes_.push_back({edit.job, edit.before, edit.cause});
  }
}

// Drops the changes of jobs that end up with the same gang as before, unless a pinned job needs its GPUs.
void Engine::drop_unchanged() {
  std::erase_if(changes_, [this](const Change& change) {
    const GangRef after = plan_.gangs_[change.job];
    if (!equal(jobs_.gangs.gang(change.before), jobs_.gangs.gang(after))) return false;
    if (plan_.is_in_the_way(change.job, change.before)) return false;
    plan_.gangs_[change.job] = change.before;
    jobs_.gangs.release(after);
    return true;
  });
}

// Journals the steps, then has them carried out. Stops that did not ask the policy stand in steps_
// already.
void Engine::commit() {
  for (const Change& change : changes_) {
    if (change.before.empty()) continue;
    steps_.push_back({.kind = Step::Kind::kStop, .job = change.job, .run = jobs_.run[change.job]});
    standstill_.on_run_end(change.job, jobs_.works_from[change.job], now_, {}, false);
    known_.on_run_end(change.job);
    known_work_.on_run_end(change.job);
    log(record::Stop{
        .job = change.job, .cause = change.cause, .is_reported = backend_->reports_steps()});
  }
  // Jobs that resume in place get their GPUs before others take the lowest free ones, pinned jobs first.
  for (const bool pinned : {true, false}) {
    for (Change& change : changes_) {
      if (jobs_.is_pinned(change.job) == pinned) change.keeps_gpus = keep_gpus(change.job);
    }
  }
  for (const Change& change : changes_) {
    if (plan_.has_gang(change.job)) add_place_steps(change.job, change.keeps_gpus);
  }
  counts_.steps += std::ssize(steps_);
  if (!steps_.empty()) keep_gangs_of_steps();
  // Without steps, too: what ended at this instant may leave others more of their links.
  const std::span<const SpeedChange> speeds = backend_->expect(now_, steps_);
  for (const Step& step : steps_) {
    if (step.kind == Step::Kind::kPlace) log_place(step);
  }
  for (const SpeedChange& change : speeds) change_speed(change.job, change.rate);
  for (const Note& note : plan_.notes_) log(note);
  if (!steps_.empty()) backend_->carry_out(now_, steps_);
}

void Engine::change_speed(JobId job, Rate rate) {
  known_.on_rate(job, rate);
  known_work_.on_rate(job, rate);
  log(record::Speed{job, rate});
}

void Engine::add_place_steps(JobId job, bool keeps_gpus) {
  FL_CHECK(jobs_.state[job] == JobState::kWaiting, "job {} cannot be placed", job.row());
  const GangRef last = jobs_.last[job];
  const GangRef gang = plan_.gangs_[job];
  const bool same_slices = equal(jobs_.gangs.gang(last), jobs_.gangs.gang(gang));
  if (!keeps_gpus) grant_gpus(job, gang, same_slices);
  Step step;
  step.kind = Step::Kind::kPlace;
  step.job = job;
  step.run = jobs_.run[job] + 1;
  step.place = last.empty()  ? PlaceKind::kStart
               : same_slices ? PlaceKind::kResume
                             : PlaceKind::kMigrate;
  Gang left = jobs_.gangs.gang(gang);
  std::span<const std::uint64_t> masks = std::as_const(jobs_.gangs).gpu_masks(gang);
  step.copies = copies_of(left);
  for (; !left.empty(); ++step.copy) {
    step.gang = first_copy(left);
    step.gpu_masks = masks.first(step.gang.size());
    left = left.subspan(step.gang.size());
    masks = masks.subspan(step.gang.size());
    steps_.push_back(step);
  }
}

// Moves the gangs of the steps out of the plan's storage, which the tables are about to change.
void Engine::keep_gangs_of_steps() {
  step_gangs_.slices.clear();
  step_gangs_.masks.clear();
  for (const Step& step : steps_) {
    step_gangs_.slices.insert(step_gangs_.slices.end(), step.gang.begin(), step.gang.end());
    step_gangs_.masks.insert(step_gangs_.masks.end(), step.gpu_masks.begin(), step.gpu_masks.end());
  }
  std::size_t at = 0;
  for (Step& step : steps_) {
    const std::size_t size = step.gang.size();
    step.gang = Gang(step_gangs_.slices).subspan(at, size);
    step.gpu_masks = std::span<const std::uint64_t>(step_gangs_.masks).subspan(at, size);
    at += size;
    if (step.kind == Step::Kind::kPlace && step.copy == 0) {
      plan_.unpin(step.job, plan_.gangs_[step.job]);
      jobs_.gangs.release(std::exchange(plan_.gangs_[step.job], {}));
    }
  }
}

// Grants a job that is placed where it was the GPUs that it had there, if all of them are free.
bool Engine::keep_gpus(JobId job) {
  const GangRef gang = plan_.gangs_[job];
  const GangRef last = jobs_.last[job];
  if (gang.empty() || !equal(jobs_.gangs.gang(last), jobs_.gangs.gang(gang))) return false;
  const auto last_masks = std::as_const(jobs_.gangs).gpu_masks(last);
  std::size_t i = 0;
  for (Slice slice : jobs_.gangs.gang(gang)) {
    const std::uint64_t mask = last_masks[i++];
    const Tables::NodeState& node = tables_.nodes[slice.node];
    if ((node.free & ~node.closed & ~granted_.grow_to(slice.node) & mask) != mask) return false;
  }
  std::ranges::copy(last_masks, jobs_.gangs.gpu_masks(gang).begin());
  i = 0;
  for (Slice slice : jobs_.gangs.gang(gang)) granted_[slice.node] |= last_masks[i++];
  return true;
}

// The tables change when the step is journalled; until then granted_ has the promised GPUs.
void Engine::grant_gpus(JobId job, GangRef gang, bool same_slices) {
  const auto masks = jobs_.gangs.gpu_masks(gang);
  const auto last_masks = jobs_.gangs.gpu_masks(jobs_.last[job]);
  std::size_t i = 0;
  for (Slice slice : jobs_.gangs.gang(gang)) {
    const Tables::NodeState& node = tables_.nodes[slice.node];
    const std::uint64_t free = node.free & ~node.closed & ~granted_.grow_to(slice.node);
    const bool keep = same_slices && (free & last_masks[i]) == last_masks[i];
    masks[i] = keep ? last_masks[i]
                    : lowest_bits(free, backend_->last_choice(job, slice.node), slice.gpus);
    granted_[slice.node] |= masks[i++];
  }
}

void Engine::log_place(const Step& step) {
  const bool is_reported = backend_->reports_steps();
  known_.on_run_begin(step.job, step.gang, step.rate);
  if (!is_reported) known_.on_start(step.job, step.gang, step.overhead);
  known_work_.on_run_begin(step.job, step.rate, step.overhead);
  log(record::Place{.job = step.job,
                    .kind = step.place,
                    .gang = step.gang,
                    .gpu_masks = step.gpu_masks,
                    .rate = step.rate,
                    .overhead = step.overhead,
                    .is_reported = is_reported,
                    .locality = step.locality,
                    .copy = step.copy});
  for (Slice slice : step.gang) granted_[slice.node] = 0;
  plan_.gangs_[step.job] = jobs_.last[step.job];
  plan_.pin(step.job, jobs_.last[step.job]);
}

}  // namespace fairlead
