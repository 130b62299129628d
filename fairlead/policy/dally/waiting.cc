#include "fairlead/policy/dally/waiting.h"

#include "fairlead/model/known_work.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace fairlead {
namespace {

constexpr double kLongestWaitS = 1e9;

Duration wait_of(double s) { return seconds(std::llround(std::min(s, kLongestWaitS))); }

}  // namespace

void DallyWaiting::add(const View& view, const OrderKey& key) {
  State& state = states_.grow_to(key.job);
  state = {};
  state.key = key;
  state.waits = true;
  state.since = view.now;
  if (options_.tunes_timers() && view.jobs.gpus[key.job] > 1) {
    state.patience = {.node = worth_waiting(view, key.job, DallyTier::kRack),
                      .rack = worth_waiting(view, key.job, DallyTier::kNetwork)};
  }
  added_.push_back(key);
}

void DallyWaiting::accepted(const View& view, JobId job, DallyTier tier) {
  timers_.accepted(DallyTimers::size_class(view.jobs.gpus[job]), tier, view.now,
                   view.now - states_[job].since);
}

void DallyWaiting::remove(JobId job) {
  if (!states_.has(job) || !states_[job].waits) return;
  states_[job].waits = false;
  has_removed_ = true;
}

const std::vector<OrderKey>& DallyWaiting::jobs() {
  merge();
  return jobs_;
}

// Brings the jobs in order after some were added or removed.
void DallyWaiting::merge() {
  if (added_.empty() && !has_removed_) return;
  const auto has_gone = [&](const OrderKey& key) {
    const State& state = states_[key.job];
    return !state.waits || state.key != key;
  };
  if (has_removed_) std::erase_if(jobs_, has_gone);
  std::erase_if(added_, has_gone);
  std::ranges::sort(added_);
  const auto middle = static_cast<std::ptrdiff_t>(jobs_.size());
  jobs_.insert(jobs_.end(), added_.begin(), added_.end());
  std::inplace_merge(jobs_.begin(), jobs_.begin() + middle, jobs_.end());
  // A job that was removed and added again with its old key would be there twice.
  if (has_removed_) jobs_.erase(std::unique(jobs_.begin(), jobs_.end()), jobs_.end());
  added_.clear();
  has_removed_ = false;
}

void DallyWaiting::refresh(Time now) {
  for (std::size_t i = 0; i < now_.size(); ++i) now_[i] = timers_.of(i, now);
}

// Returns the time to wait that is worth the job's loss at the tier with links of its own.
Duration DallyWaiting::worth_waiting(const View& view, JobId job, DallyTier tier) const {
  const JobTiers& tiers = tiers_.of(view, job);
  const double best = tiers.at_best();
  const double there = tiers.fastest(tier);
  if (!(there > 0) || !(best > there)) return {};
  const double loss_s = to_seconds(view.work.remaining(job)) * (1 / there - 1 / best);
  return wait_of(loss_s);
}

// Returns the timers of its size; if they are tuned, at least as long as the job's losses.
DallyTimers::Timers DallyWaiting::timers_of(const View& view, JobId job) const {
  DallyTimers::Timers timers = now_[DallyTimers::size_class(view.jobs.gpus[job])];
  if (!options_.tunes_timers()) return timers;
  const State& state = states_[job];
  timers.node = std::max(timers.node, state.patience.node);
  timers.rack = std::max({timers.rack, timers.node, state.patience.rack});
  return timers;
}

DallyWaiting::Types DallyWaiting::accepts(const View& view, JobId job) const {
  const JobTiers& tiers = tiers_.of(view, job);
  Types types{};
  if (view.jobs.gpus[job] == 1) {
    for (DallyTier tier : kDallyTierList) types[index_of(tier)] = tiers.types(tier);
    return types;
  }
  const DallyTimers::Timers timers = timers_of(view, job);
  const Duration waited = view.now - states_[job].since;
  const DallyTier best = tiers.best();
  for (DallyTier tier : kDallyTierList) {
    const bool accepts = tier == best || (tier == DallyTier::kRack && waited >= timers.node) ||
                         (tier == DallyTier::kNetwork && waited >= timers.rack);
    if (accepts) types[index_of(tier)] = tiers.types(tier);
  }
  return types;
}

Time DallyWaiting::refuses_until(const View& view, JobId job, double rate, double loss_of_others) {
  State& state = states_[job];
  if (!options_.tunes_timers()) return state.since;
  const double left_s = to_seconds(view.work.remaining(job));
  const double own_s = left_s * std::max(1 / rate - 1 / tiers_.of(view, job).at_best(), 0.0);
  // Loss of the jobs that it slows down during its whole run, in time of its own GPUs.
  const double others_s = left_s / rate * loss_of_others / view.jobs.gpus[job];
  const Time until = state.since + wait_of(own_s + others_s);
  if (until > view.now && (state.refused_until <= view.now || until < state.refused_until)) {
    state.refused_until = until;
  }
  return until;
}

DallyWaiting::NextTier DallyWaiting::next_tier(const View& view, JobId job) const {
  if (view.jobs.gpus[job] == 1) return {};
  const State& state = states_[job];
  const JobTiers& tiers = tiers_.of(view, job);
  const DallyTimers::Timers timers = timers_of(view, job);
  const DallyTier best = tiers.best();
  const auto end = [&](DallyTier tier, Duration timer) {
    const bool is_ahead = tier > best && tiers.types(tier) != 0 && timer < DallyTimers::kForever &&
                          state.since + timer > view.now;
    return is_ahead ? state.since + timer : Time::never();
  };
  const Time rack = end(DallyTier::kRack, timers.node);
  const Time network = end(DallyTier::kNetwork, timers.rack);
  if (rack <= network && rack != Time::never()) return {DallyTier::kRack, rack};
  return {DallyTier::kNetwork, network};
}

// The tuner moves timers all the time, so a change below a tenth of the rest is not noted.
bool DallyWaiting::is_news(const View& view, const NextTier& noted, const NextTier& next) const {
  const bool is_noted = noted.at.ms >= 0;
  if (next.at == Time::never()) return is_noted && noted.at != Time::never();
  const bool same_timer =
      is_noted && noted.at > view.now && noted.at != Time::never() && noted.tier == next.tier;
  return !same_timer || std::abs((next.at - noted.at).ms) * 10 >= (next.at - view.now).ms;
}

Time DallyWaiting::note(const View& view, Plan& plan) {
  Time first = Time::never();
  for (const OrderKey& key : jobs()) {
    State& state = states_[key.job];
    const NextTier noted = state.noted;
    const NextTier next = next_tier(view, key.job);
    first = std::min(first, next.at);
    if (state.refused_until > view.now) first = std::min(first, state.refused_until);
    state.refused_until = Time{-1};
    if (!is_news(view, noted, next)) continue;
    // The last timer has ended: the note is about the tier of that timer.
    const DallyTier about = next.at == Time::never() ? noted.tier : next.tier;
    state.noted = {about, next.at};
    const Duration left = next.at == Time::never() ? Duration{} : next.at - view.now;
    if (about == DallyTier::kRack) {
      plan.note(note::NodeTimer{key.job, left});
    } else {
      plan.note(note::RackTimer{key.job, left});
    }
  }
  return first;
}

void DallyWaiting::State::fields(Archive& archive) {
  archive(since, noted.at);
  archive.enumerator(noted.tier, DallyTier{kDallyTiers - 1});
  archive(patience.node, patience.rack);
}

void DallyWaiting::fields(Archive& archive) {
  archive(timers_);
  merge();
  archive.elements(jobs_, [&](OrderKey& key) {
    archive(key);
    archive.expect(!key.job.is_none());
    archive.expect(!archive.reads() || jobs_.empty() || jobs_.back() < key);
    if (!archive.ok()) return;
    State& state = states_.grow_to(key.job);
    archive(state);
    state.key = key;
    state.waits = true;
  });
}

}  // namespace fairlead
