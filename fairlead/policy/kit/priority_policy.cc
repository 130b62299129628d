#include "fairlead/policy/kit/priority_policy.h"

#include "fairlead/policy/kit/rounds.h"

#include <algorithm>
#include <utility>

namespace fairlead {

void PriorityPolicy::decide(const View& view, Plan& plan) {
  waiting_.reserve(view.jobs.size());
  ++decisions_;
  running_label_ = next_label_;
  next_label_ += static_cast<std::int64_t>(running_.size());
  newcomer_label_ = next_label_;
  apply_news(view);
  if (running_.size() > 2 * view.running.size() + 64) drop_ended(plan);
  if (waiting_.empty()) return;

  const bool all_fit = view.cluster.type_names.size() == 1 &&
                       waiting_.gpus() <= std::int64_t{plan.free().total()} && !any_returns(view);
  if (all_fit) {
    preemption_.clear();
    start_fitting(view, plan);
  } else {
    refresh_running(view, plan);
    choose(view, plan);
    carry_out(view, plan);
  }
  // If no job runs, time alone changes nothing.
  if (quantum_.ms > 0 && !waiting_.empty() && !plan.free().all_free()) {
    plan.wake_at(Rounds(quantum_).next(view.now));
  }
}

void PriorityPolicy::apply_news(const View& view) {
  for (const Event& event : view.news) {
    // A job that arrives again was held meanwhile; its earlier wait or run has ended.
    const bool is_back = event.kind == EventKind::kArrived && view.jobs.run[event.job] > 0;
    if (loses_gang(event.kind) || is_back) {
      std::erase_if(running_, [&](const Running& each) { return each.order.job == event.job; });
    }
    if (begins_to_wait(event.kind)) wait(view, newcomer(view, event.job));
    if (ends_job(event.kind)) waiting_.erase(event.job);
  }
}

// Returns true if a waiting job has a gang to return to.
bool PriorityPolicy::any_returns(const View& view) const {
  bool any = false;
  if (!returns_) return any;
  waiting_.for_each([&](const OrderKey& key) { any |= !view.jobs.last_gang(key.job).empty(); });
  return any;
}

OrderKey PriorityPolicy::newcomer(const View& view, JobId job) {
  const std::int64_t now = key(view, job);
  if (ties_ == TieOrder::kStable) return {.major = now, .label = next_label_++, .job = job};
  return {.major = now, .minor = view.jobs.arrival[job].ms, .job = job};
}

void PriorityPolicy::wait(const View& view, const OrderKey& key) {
  waiting_.add(0, gang_asked(view.jobs, key.job), view.jobs.types[key.job], key);
}

void PriorityPolicy::start(const View& view, const OrderKey& key) {
  // A victim that found another place still has its entry, and still runs in the tables.
  if (view.jobs.state[key.job] == JobState::kRunning) return;
  const bool has_waited = key.label < newcomer_label_;
  running_.push_back({.order = key,
                      .started = has_waited ? -decisions_ : decisions_,
                      .label_at_start = key.label,
                      .seen = view.now});
}

void PriorityPolicy::drop_ended(const Plan& plan) {
  std::erase_if(running_, [&](const Running& each) { return !plan.has_gang(each.order.job); });
}

void PriorityPolicy::refresh_running(const View& view, const Plan& plan) {
  drop_ended(plan);
  for (Running& each : running_) {
    const std::int64_t now = key(view, each.order.job);
    each.fallen = each.order.major - now;
    each.during = view.now - each.seen;
    each.order.major = now;
    each.seen = view.now;
  }
  const auto is_before = [this](const Running& a, const Running& b) { return is_ahead(a, b); };
  // The order has rarely changed.
  if (!std::ranges::is_sorted(running_, is_before)) std::ranges::sort(running_, is_before);
  if (ties_ == TieOrder::kByArrival) return;
  std::int64_t label = running_label_;
  for (Running& each : running_) each.order.label = label++;
}

bool PriorityPolicy::is_ahead(const Running& a, const Running& b) const {
  if (ties_ == TieOrder::kByArrival || a.order.major != b.order.major) return a.order < b.order;
  const Int128 pace_a = Int128{a.fallen} * b.during.ms;
  const Int128 pace_b = Int128{b.fallen} * a.during.ms;
  if (pace_a != pace_b) return pace_a < pace_b;
  return std::pair(a.started, a.label_at_start) < std::pair(b.started, b.label_at_start);
}

void PriorityPolicy::choose(const View& view, const Plan& plan) {
  preemption_.begin(view, plan, placement_.mixes);
  waiting_.unblock();
  auto running = running_.begin();
  for (;;) {
    ClassQueue::Class* const next = waiting_.first_open();
    for (; running != running_.end() && (next == nullptr || running->order < next->head());
         ++running) {
      preemption_.keep(view, running->order.job);
    }
    if (next == nullptr) return;
    preemption_.admit(waiting_, *next);
  }
}

void PriorityPolicy::carry_out(const View& view, Plan& plan) {
  preemption_.carry_out(placement_, view, plan, returns_);
  for (const Running& each : running_) {
    if (!plan.has_gang(each.order.job)) wait(view, each.order);
  }
  for (const Preemption::Chosen& chosen : preemption_.chosen()) {
    plan.has_gang(chosen.key.job) ? start(view, chosen.key) : wait(view, chosen.key);
  }
  start_fitting(view, plan);
  drop_ended(plan);
}

void PriorityPolicy::start_fitting(const View& view, Plan& plan) {
  waiting_.unblock();
  const auto has_place = [&](const ClassQueue::Class& next) {
    const JobId job = next.head().job;
    return (returns_ && place_back_on(view, plan, job, next.gpus(), next.types())) ||
           place(placement_, view.cluster, plan, job, next.gpus(), next.types());
  };
  const auto never = [](const ClassQueue::Class&) { return false; };
  start_waiting(waiting_, never, plan, has_place,
                [&](const OrderKey& key, std::uint32_t) { start(view, key); });
}

void PriorityPolicy::fields(Archive& archive) {
  archive(waiting_, next_label_, decisions_, running_);
}

}  // namespace fairlead
