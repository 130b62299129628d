#include "fairlead/policy/kit/backfill.h"

#include "fairlead/model/known_work.h"
#include "fairlead/policy/kit/free_for.h"

namespace fairlead {

Duration expected_length(const View& view, JobId job, std::optional<Duration> otherwise) {
  const Duration limit = view.jobs.logged_of(job).time_limit;
  if (limit.ms > 0) return limit;
  return otherwise ? *otherwise : view.work.remaining(job);
}

Time expected_end(const View& view, JobId job, std::optional<Duration> otherwise) {
  const bool by_work = view.jobs.logged_of(job).time_limit.ms == 0 && !otherwise;
  const Time since = by_work ? view.now : view.jobs.run_since[job];
  return since + expected_length(view, job, otherwise);
}

void Backfill::begin_pass(const View& view, const Plan& plan) {
  now_ = view.now;
  reservations_left_ = limits_.reservations;
  now_free_ = plan.free();
  changes_.clear();
  balance_.resize(view.cluster.nodes());
}

// Returns the first multiple of the resolution, counted from now, that is later than t.
Time Backfill::rounded(Time t) const {
  const std::int64_t step = limits_.resolution.ms;
  const std::int64_t ahead = std::max<std::int64_t>(1, (t - now_).ms);
  return now_ + Duration{(ahead + step - 1) / step * step};
}

void Backfill::add_end(Gang gang, Time t) {
  for (Slice slice : gang) changes_.push_back({t, slice.node, slice.gpus});
}

void Backfill::finish_ends() {
  std::ranges::sort(changes_, [](const Change& a, const Change& b) {
    return std::pair(a.t, a.node) < std::pair(b.t, b.node);
  });
}

void Backfill::add_change(const Change& change) {
  const bool comes_free = change.gpus > 0;
  const auto at = comes_free ? std::ranges::lower_bound(changes_, change.t, {}, &Change::t)
                             : std::ranges::upper_bound(changes_, change.t, {}, &Change::t);
  changes_.insert(at, change);
}

// Finds a gang for the job that is free from `from` on for `length`. then_ has the GPUs free at
// `from`, and changes_[next] is the first change after it.
bool Backfill::fits(const View& view, const Plan* plan, JobId job, std::size_t next, Time from,
                    Duration length) {
  const GangAsked asked = gang_asked(view.jobs, job);
  const TypeMask types = view.jobs.types[job];
  if (then_->of(types) < asked.gpus) return false;
  if (asked.pinned.is_none() && then_->room(types, asked.task_gpus) < asked.gpus) return false;
  throughout_ = *then_;
  std::size_t end = next;
  for (; end < changes_.size() && changes_[end].t < from + length; ++end) {
    Balance& balance = balance_[changes_[end].node];
    balance.now += changes_[end].gpus;
    if (balance.now >= balance.least) continue;
    throughout_->take(changes_[end].node, static_cast<std::uint32_t>(balance.least - balance.now));
    balance.least = balance.now;
  }
  for (std::size_t i = next; i < end; ++i) balance_[changes_[i].node] = {};
  if (asked.pinned.is_none() && plan != nullptr && plan->room().limits(job)) {
    LimitedGpus usable =
        limited_gpus(view.cluster, *throughout_, plan->room(), job, asked.task_gpus);
    return take_gang(placement_, view.cluster, usable, asked, view.jobs.types[job], gang_);
  }
  if (asked.pinned.is_none()) {
    return take_gang(placement_, view.cluster, *throughout_, asked, view.jobs.types[job], gang_);
  }
  const Gang last = view.jobs.last_gang(job);
  gang_.assign(last.begin(), last.end());
  return std::ranges::all_of(
      last, [&](Slice slice) { return throughout_->on(slice.node) >= slice.gpus; });
}

bool Backfill::start(const View& view, Plan& plan, JobId job, Duration length) {
  promised_ = Time::never();
  if (!plan.examine_again(job)) return false;
  then_ = *now_free_;
  if (!fits(view, &plan, job, 0, now_, length)) {
    if (reservations_left_ > 0) promise(view, job, length, plan.room().limits(job));
    return false;
  }
  for (Slice slice : gang_) plan.take(slice.node, slice.gpus);
  if (!plan.place(job)) return false;
  for (Slice slice : gang_) {
    now_free_->take(slice.node, slice.gpus);
    add_change({rounded(now_ + length), slice.node, slice.gpus});
  }
  return true;
}

// `limited`: it found no gang now perhaps only because of CPU and memory, which do not count later. Without GPUs of its
// types that come free, it finds no gang either.
void Backfill::promise(const View& view, JobId job, Duration length, bool limited) {
  --reservations_left_;
  const bool is_pinned = view.jobs.is_pinned(job);
  bool may_fit = limited || is_pinned;
  for (std::size_t next = 0; next < changes_.size();) {
    const Time t = changes_[next].t;
    if (t - now_ > limits_.window) return;
    bool any_come_free = false;
    for (; next < changes_.size() && changes_[next].t == t; ++next) {
      const Change& change = changes_[next];
      const auto gpus = static_cast<std::uint32_t>(std::abs(change.gpus));
      change.gpus > 0 ? then_->give(change.node, gpus) : then_->take(change.node, gpus);
      if (change.gpus <= 0) continue;
      any_come_free = true;
      may_fit |= (view.jobs.types[job] & type_bit(view.cluster.node_type[change.node])) != 0;
    }
    if (!any_come_free || !may_fit) continue;
    if (fits(view, nullptr, job, next, t, length)) return reserve(t, length);
    may_fit = is_pinned;
  }
}

void Backfill::reserve(Time from, Duration length) {
  promised_ = from;
  // At equal times GPUs come free first, so a job whose known work is done has its GPUs for a moment.
  const Time end = rounded(from + std::max(length, milliseconds(1)));
  for (Slice slice : gang_) {
    add_change({from, slice.node, -std::int32_t{slice.gpus}});
    add_change({end, slice.node, slice.gpus});
  }
}

}  // namespace fairlead
