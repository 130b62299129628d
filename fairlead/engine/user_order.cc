#include "fairlead/engine/user_order.h"

#include "fairlead/engine/idle_gpus.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace fairlead {
namespace {

// A job of a lower priority that took idle GPUs may have to leave them, because the policy then suspended one of a higher
// priority. If that occurs twice within this time, none takes idle GPUs for as long. Chosen: ten turns of a policy.
constexpr Duration kRest = seconds(600);

}  // namespace

void UserOrder::update(Time now, std::vector<OrderedJob> jobs, std::uint32_t gpus_max,
                       const Tables& tables) {
  if (rests_until_ <= now) rests_until_ = {};
  std::optional<IdleGpus> idle;  // few orders look at them
  auto blocked = start_order(std::move(jobs), gpus_max, [&](JobId job) {
    if (rests_until_ > Time{} || !tables.jobs.has(job)) return false;
    if (!idle) idle.emplace(tables);
    return idle->take(job);
  });
  note_left(now, blocked, tables);
  blocked_ = std::move(blocked);
}

Time UserOrder::due() const {
  return rests_until_ > Time{} && !blocked_.empty() ? rests_until_ : Time::never();
}

void UserOrder::note_left(Time now, const std::map<JobId, StartBlock>& blocked,
                          const Tables& tables) {
  const bool leaves = std::ranges::any_of(blocked, [&](const auto& entry) {
    const auto& [job, block] = entry;
    return block.cause == StartBlock::Cause::kPriority && !blocked_.contains(job) &&
           tables.jobs.has(job) && tables.jobs.state[job] == JobState::kRunning;
  });
  if (!leaves) return;
  const bool is_again = left_at_ != Time::never() && now - left_at_ < kRest;
  if (is_again) rests_until_ = now + kRest;
  left_at_ = now;
}

}  // namespace fairlead
