#include "fairlead/engine/engine.h"

#include "fairlead/base/archive.h"
#include "fairlead/base/bytes.h"
#include "fairlead/engine/condense.h"
#include "fairlead/engine/standstill_cause.h"

#include <utility>
#include <vector>

namespace fairlead {
namespace {

// All that a policy remembers, the state of its budget, and the wake-ups that it asked for.
class PolicyMemory {
 public:
  PolicyMemory(Policy& policy, const Timers& timers, const DecisionBudget& budget)
      : name_(policy.name()), wakes_(timers.wakes()) {
    save(policy, state_);
    if (budget.is_limited()) save(DecisionBudget(budget), state_);
  }
  // Returns a record that points into this object.
  record::Snapshot snapshot(std::string_view policy_options) const {
    return {name_, policy_options, state_.bytes(), wakes_};
  }

 private:
  std::string_view name_;
  std::vector<Time> wakes_;
  Writer state_;
};

}  // namespace

Engine::Engine(Cluster cluster, const Speed* speed, Policy& policy, Backend& backend,
               RecordSink& journal, const EngineOptions& options)
    : policy_(&policy),
      options_(options),
      state_(std::move(cluster), speed, policy.needs(), backend, journal, options),
      events_(state_, timers_, options_),
      steps_(state_, options.jobs) {
  state_.plan.set_budget(policy.decision_budget());
}

void Engine::begin(const RunLabel& label, const Users& users) {
  const Cluster& cluster = state_.tables.cluster;
  state_.log(run_record(label, cluster));
  log_users(users);
  for (NodeId node : ids<NodeId>(cluster.nodes())) state_.log(node_record(cluster, node));
}

void Engine::log_users(const Users& users) {
  const Users& known = state_.tables.users;
  while (known.groups.size() < users.groups.size()) {
    state_.log(group_record(users.groups, GroupId(known.groups.size())));
  }
  while (known.size() < users.size()) state_.log(user_record(users, UserId(known.size())));
}

Result<bool> Engine::step() {
  const Time wake = timers_.next();
  Time target = std::min(wake, options_.until);
  // A policy that starts again has asked for nothing yet.
  if (restarts_policy_) target = std::min(std::max(now() + milliseconds(1), present_), target);
  const bool skips = target < present_ && present_ - target > options_.slack;
  if (skips) target = std::min(present_, options_.until);
  // If nothing else can happen, a wake-up matters only to jobs that it may place.
  const bool may_place = !state_.tables.waiting.members().empty() || timers_.has_retries();
  const bool awaited = wake <= options_.until && wake != Time::never() && may_place;
  const Batch batch = state_.world->wait(target, awaited);
  if (batch.ended) return false;
  set_clock(batch);
  if (skips && wake < now()) {
    state_.log(record::Skipped{});
    ++state_.counts.skips;
  }
  bool is_due = events_.apply(batch, *policy_);
  const bool restarts = std::exchange(restarts_policy_, false);
  if (restarts) {
    timers_.clear_wakes();
    state_.plan.set_budget(policy_->decision_budget());
    events_.announce_all_jobs();
  }
  is_due |= !events_.instant().news.empty();
  const bool acts =
      !events_.instant().stops.empty() || !state_.tables.waiting_without_gpus.members().empty();
  if (batch.events.empty() && !is_due && !acts) return now() < options_.until || restarts;
  if (is_due || acts) FL_TRY(decide(is_due, batch.events.empty(), restarts));
  return check_work();
}

void Engine::set_clock(const Batch& batch) {
  Time now = std::max(state_.now, batch.now);
  // A world may report more events for an instant that was already decided.
  if (now == decided_ && !batch.events.empty()) now = now + milliseconds(1);
  state_.set_now(now);
  present_ = std::max(present_, batch.present);
  state_.counts.late_max = std::max(state_.counts.late_max, present_ - now);
}

void Engine::end(const Users& users, std::span<const JobSpec> unsubmitted) {
  // A run that is cut off ends at `until` even if its last event came earlier.
  if (options_.until != Time::never()) state_.now = std::max(state_.now, options_.until);
  const Tables& tables = state_.tables;
  JobCounts counts = tables.counts;
  const std::int64_t here =
      std::ssize(tables.waiting.members()) + std::ssize(tables.running.members()) +
      std::ssize(tables.waiting_without_gpus.members()) +
      std::ssize(tables.running_without_gpus.members()) + std::ssize(tables.held_until);
  log_users(users);
  for (const JobSpec& spec : unsubmitted) {
    if (tables.jobs.has(spec.job)) continue;
    // A job that was not announced in time counts as submitted too late.
    state_.log(record::Unsubmitted{.asked = spec, .submit = std::max(spec.submit, now())});
    ++counts.unsubmitted;
  }
  counts.pending = here + counts.unsubmitted;
  state_.log(record::End{counts});
}

// `asks`: the policy decides; else the effects of the events alone are carried out.
Status Engine::decide(bool asks, bool only_woke, bool restarts) {
  decided_ = now();
  Plan& plan = steps_.begin();
  const Tables& tables = state_.tables;
  const View view{.now = now(),
                  .cluster = tables.cluster,
                  .users = tables.users,
                  .jobs = tables.jobs,
                  .speed = state_.speeds,
                  .work = state_.work,
                  .news = events_.instant().news,
                  .waiting = tables.waiting.members(),
                  .running = tables.running.members()};
  if (asks) ask_policy(view, plan, restarts);
  FL_TRY(steps_.check(*policy_));
  timers_.wake_at(steps_.wakes());
  DecisionBudget& budget = state_.plan.budget();
  const bool is_cut = asks && budget.is_cut();
  if (asks && budget.end()) timers_.wake_at({{now() + milliseconds(1)}});
  steps_.commit(events_.instant().stops);
  return asks ? check_idle(only_woke && !is_cut) : Status();
}

void Engine::ask_policy(const View& view, Plan& plan, bool restarts) {
  DecisionBudget& budget = state_.plan.budget();
  const auto woke = [](const Event& event) { return event.kind == EventKind::kWoke; };
  budget.begin(!std::ranges::all_of(view.news, woke), restarts);
  policy_->decide(view, plan);
  if (!budget.is_cut()) return;
  plan.note(note::Cut{budget.cut_at(), budget.evaluations()});
}

Standstill::Jobs Engine::present_jobs() const {
  const Tables& tables = state_.tables;
  return {tables.running.members(), tables.jobs.works_from, has_jobs(tables)};
}

Status Engine::check_idle(bool only_woke) {
  const bool all_up = state_.plan.free().capacity() == state_.tables.cluster.gpus;
  if (!state_.standstill.is_idle(only_woke, all_up, present_jobs(), now())) return {};
  if (!state_.world->reports_steps()) return idle_error(state_, policy_->name());
  // A world with few reports can look like a standstill, so a daemon continues.
  state_.standstill.start_anew(now());
  return {};
}

// Returns false if all jobs of the trace ended long ago: nodes may go on failing for ever. A real
// world may take its time.
Result<bool> Engine::check_work() {
  Standstill& standstill = state_.standstill;
  const JobCounts& counts = state_.tables.counts;
  const std::int64_t ended = counts.finished + counts.failed + counts.rejected;
  if (!has_jobs(state_.tables) && ended == static_cast<std::int64_t>(options_.jobs)) {
    return standstill.records() < Standstill::kRecordsMax;
  }
  if (!standstill.is_endless(present_jobs(), now())) return true;
  if (state_.world->exact_work() != nullptr) return no_work_error(state_, policy_->name());
  standstill.start_anew(now());
  return true;
}

void Engine::snapshot(std::string_view policy_options) {
  if (restarts_policy_) return;  // the policy does not know the jobs yet
  const PolicyMemory memory(*policy_, timers_, state_.plan.budget());
  state_.log(memory.snapshot(policy_options));
  decided_ = now();  // later events of this instant count for the next
}

void Engine::restore_budget(Reader& reader) { load(state_.plan.budget(), reader); }

bool Engine::condense(const RunLabel& label, RecordSink& sink) const {
  if (restarts_policy_) return false;
  const PolicyMemory memory(*policy_, timers_, state_.plan.budget());
  fairlead::condense(state_, label, memory.snapshot(label.options), sink);
  return true;
}

void Engine::learn(UserId user, std::string_view model, GpuTypeId type,
                   const MeasuredRate& measured) {
  state_.speeds.learn({.user = user,
                       .model = model.empty() ? ModelId() : state_.tables.add_model(model),
                       .type = type,
                       .measured = measured});
}

void Engine::restore(const Record& record) {
  decided_ = record.t;
  // Retries that were due are in the journal as Released, or were obsolete.
  while (timers_.take_retry(record.t)) {
  }
  state_.restore(record);
  if (const auto* failed = std::get_if<record::StartFailed>(&record.what)) {
    timers_.retry_at(failed->retry, failed->job);
  }
}

}  // namespace fairlead
