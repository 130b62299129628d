#include "fairlead/engine/start_order.h"

#include "fairlead/model/job_limits.h"

#include <algorithm>
#include <array>
#include <tuple>

namespace fairlead {
namespace {

using State = OrderedJob::State;

// The first jobs that keep GPUs from jobs of a lower priority; null: there is none.
struct First {
  const OrderedJob* here = nullptr;
  const OrderedJob* waits = nullptr;
  const OrderedJob* still_waits = nullptr;  // after a decision

  void add(const OrderedJob& one, bool is_full) {
    if (!one.can_run || one.state == State::kRetries) return;
    if (here == nullptr) here = &one;
    if (one.state == State::kRuns && !is_full) return;
    if (waits == nullptr) waits = &one;
    const bool takes_turns = is_full || (one.state == State::kWaits && one.preempts);
    if (still_waits == nullptr && takes_turns) still_waits = &one;
  }

  // Returns the job for which that one must not have GPUs; null: there is none.
  const OrderedJob* before(const OrderedJob& one, const TakeIdle& take_idle) const {
    const auto is_before = [&](const OrderedJob* first) {
      return first != nullptr && first->priority > one.priority;
    };
    if (is_before(still_waits)) return still_waits;
    if (one.state == State::kRuns) return nullptr;
    if (is_before(waits)) return waits;
    return is_before(here) && !take_idle(one.job) ? here : nullptr;
  }
};

}  // namespace

bool is_held_open(const Tables& tables, JobId job) {
  const auto held = tables.held_until.find(job);
  return held != tables.held_until.end() && held->second == Time::never();
}

OrderedJob::State state_in_order(const Tables& tables, JobId job) {
  if (!tables.jobs.has(job) || is_held_open(tables, job)) return State::kHeld;
  if (tables.jobs.state[job] == JobState::kRunning) return State::kRuns;
  return tables.jobs.state[job] == JobState::kWaiting ? State::kWaits : State::kRetries;
}

void sort_by_start(std::vector<OrderedJob>& jobs) {
  std::ranges::sort(jobs, {}, [](const OrderedJob& one) {
    return std::tuple(-one.priority, one.state == State::kHeld, one.job);
  });
}

std::map<JobId, StartBlock> start_order(std::vector<OrderedJob> jobs, std::uint32_t gpus_max,
                                        const TakeIdle& take_idle) {
  sort_by_start(jobs);
  std::map<JobId, StartBlock> blocked;
  First first;
  const std::array<JobLimit, 1> limits = {JobLimit{.name = {}, .gpus_max = gpus_max}};
  const std::array<std::size_t, 1> of = {0};
  LimitRoom room(limits, LimitRoom::Passing::kNone);
  for (const OrderedJob& one : jobs) {
    if (const OrderedJob* by = first.before(one, take_idle)) {
      blocked[one.job] = {.cause = StartBlock::Cause::kPriority, .by = by->job};
      continue;
    }
    const auto refusal = room.take(one.gpus, of);
    if (refusal) {
      blocked[one.job] = {
          .cause = refusal->is_too_large ? StartBlock::Cause::kTooLarge : StartBlock::Cause::kLimit,
          .gpus_max = gpus_max};
    }
    if (!refusal || !refusal->is_too_large) first.add(one, refusal.has_value());
  }
  return blocked;
}

}  // namespace fairlead
