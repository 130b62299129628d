#include "policy/priority_policy.h"

#include <algorithm>

namespace fairlead {
namespace {

// Sorting costs nothing but a look where the order has not changed, which is the usual case.
void sort_if_needed(std::vector<OrderKey>& keys) {
  if (!std::ranges::is_sorted(keys)) std::ranges::sort(keys);
}

}  // namespace

void PriorityPolicy::decide(const View& view, Plan& plan) {
  waiting_.reserve(view.jobs.size());
  // Running jobs that get a new key stand before today's newcomers, so their labels come first.
  const std::int64_t first_label = next_label_;
  next_label_ += static_cast<std::int64_t>(running_.size());
  apply_news(view);
  if (running_.size() > 2 * view.running.size() + 64) drop_ended(plan);
  if (waiting_.empty()) return;

  const bool everybody_fits =
      view.cluster.type_names.size() == 1 && waiting_.gpus() <= std::int64_t{plan.free().total()};
  if (!everybody_fits) {
    refresh_running(view, plan, first_label);
    choose(view, plan);
    carry_out(view, plan);
  }
  start_fitting(view, plan);
  // Where nothing runs, time alone changes nothing.
  const bool something_runs = plan.free().total() < plan.free().capacity();
  if (quantum_.ms > 0 && !waiting_.empty() && something_runs) {
    plan.wake_at({(view.now.ms / quantum_.ms + 1) * quantum_.ms});
  }
}

void PriorityPolicy::apply_news(const View& view) {
  for (const Event& event : view.news) {
    switch (event.kind) {
      case EventKind::kArrived:
        wait(view, newcomer(view, event.job));
        break;
      case EventKind::kEvicted:
      case EventKind::kStartFailed:
        return_to_queue(view, event.job);
        break;
      case EventKind::kFinished:
      case EventKind::kFailed:
      case EventKind::kCancelled:
        waiting_.erase(event.job);
        break;
      default:
        break;
    }
  }
}

void PriorityPolicy::return_to_queue(const View& view, JobId job) {
  const auto at = std::ranges::find(running_, job, &OrderKey::job);
  FL_CHECK(at != running_.end(), "job {} did not run", job.row());
  const OrderKey order = *at;
  running_.erase(at);
  wait(view, key(view, job) == order.major ? order : newcomer(view, job));
}

OrderKey PriorityPolicy::newcomer(const View& view, JobId job) {
  return {key(view, job), 0, ties_ == Ties::kStable ? next_label_++ : 0, job};
}

void PriorityPolicy::wait(const View& view, const OrderKey& key) {
  waiting_.add(0, view.jobs.gpus[key.job], view.jobs.types[key.job], key);
}

void PriorityPolicy::drop_ended(const Plan& plan) {
  std::erase_if(running_, [&](const OrderKey& key) { return !plan.holds(key.job); });
}

// Brings the keys of the running jobs up to date, as a stable sort of the old order would.
void PriorityPolicy::refresh_running(const View& view, const Plan& plan, std::int64_t first_label) {
  drop_ended(plan);
  sort_if_needed(running_);
  for (OrderKey& order : running_) {
    const std::int64_t now = key(view, order.job);
    const std::int64_t label = first_label++;
    if (now == order.major) continue;
    order.major = now;
    if (ties_ == Ties::kStable) order.label = label;
  }
  sort_if_needed(running_);
}

void PriorityPolicy::choose(const View& view, const Plan& plan) {
  preemption_.begin(view, plan);
  waiting_.unblock();
  auto running = running_.begin();
  for (;;) {
    ClassQueue::Class* const next = waiting_.first_open();
    for (; running != running_.end() && (next == nullptr || *running < next->head()); ++running) {
      preemption_.keep(view, running->job);
    }
    if (next == nullptr) return;
    preemption_.admit(waiting_, *next);
  }
}

void PriorityPolicy::carry_out(const View& view, Plan& plan) {
  preemption_.carry_out(placement_, view, plan);
  std::erase_if(running_, [&](const OrderKey& order) {
    if (plan.holds(order.job)) return false;
    wait(view, order);
    return true;
  });
  for (const Preemption::Chosen& chosen : preemption_.chosen()) {
    if (plan.holds(chosen.key.job)) {
      running_.push_back(chosen.key);
    } else {
      wait(view, chosen.key);
    }
  }
}

void PriorityPolicy::start_fitting(const View& view, Plan& plan) {
  waiting_.unblock();
  start_waiting(waiting_, OnMisfit::kSkip, placement_, view, plan,
                [this](const OrderKey& key, std::uint32_t) { running_.push_back(key); });
}

void PriorityPolicy::save(Writer& writer) const {
  waiting_.save(writer);
  writer.i64(next_label_);
  writer.u64(running_.size());
  for (const OrderKey& order : running_) {
    writer.i64(order.major);
    writer.i64(order.label);
    writer.id(order.job);
  }
}

void PriorityPolicy::load(Reader& reader) {
  waiting_.load(reader);
  next_label_ = reader.i64();
  running_.clear();
  for (std::uint64_t left = reader.u64(); left > 0 && reader.ok(); --left) {
    OrderKey order;
    order.major = reader.i64();
    order.label = reader.i64();
    order.job = reader.id<JobId>();
    running_.push_back(order);
  }
}

}  // namespace fairlead
