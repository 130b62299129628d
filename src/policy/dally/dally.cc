#include "fairlead/policy/dally/dally.h"

#include "fairlead/policy/kit/domains.h"
#include "fairlead/policy/kit/placement.h"
#include "fairlead/policy/policies.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace fairlead {
namespace {

constexpr double kLongestWaitS = 1e9;
constexpr double kMostScore = 1e9;

std::size_t index_of(DallyTier tier) { return static_cast<std::size_t>(tier); }

// The largest gang of that type that one domain of the tier can have.
std::uint32_t largest(const Cluster& cluster, GpuTypeId type, DallyTier tier) {
  return most_in_domain(cluster, domain_tier(tier), type_bit(type),
                        [&](NodeId node) { return cluster.node_gpus[node]; });
}

}  // namespace

void Dally::decide(const View& view, Plan& plan) {
  if (states_.size() < view.jobs.size()) states_.resize(view.jobs.size());
  if (std::exchange(rates_revision_, view.speed.revision()) != view.speed.revision()) {
    for (State& state : states_) state.is_known = false;
  }
  apply_news(view);
  refresh_timers(view.now);
  start_waiting(view, plan);
  if (options_.preempt != DallyPreempt::kNone && rounds_.due(view.now)) {
    run_round(view, plan);
    start_waiting(view, plan);  // those who had to make room, elsewhere
  }
  refresh_timers(view.now);
  ask_to_be_woken(view, plan, note_timers(view, plan));
}

const Dally::State& Dally::know(const View& view, JobId job) {
  State& state = states_[job];
  state.rates = all_rates(view, job);
  state.runs = types_with_room(view, job, state);
  state.fastest = fastest_rates(state);
  state.is_known = true;
  return state;
}

IdVector<GpuTypeId, Dally::TierRates> Dally::all_rates(const View& view, JobId job) {
  IdVector<GpuTypeId, TierRates> rates(view.cluster.type_names.size());
  const std::uint32_t gpus = view.jobs.gpus[job];
  for (GpuTypeId type : ids<GpuTypeId>(rates.size())) {
    for (DallyTier tier : kDallyTierList) {
      const std::optional<Rate> known = view.speed.rate(job, type, gpus, tier_for(tier, gpus));
      rates[type][index_of(tier)] = known.value_or(Rate{0}).value();
    }
  }
  return rates;
}

Dally::TierTypes Dally::types_with_room(const View& view, JobId job, const State& state) {
  TierTypes runs{};
  for (DallyTier tier : kDallyTierList) {
    if (tier > DallyTier::kNode && view.jobs.gpus[job] == 1) break;  // it cannot be spread
    if (tier == DallyTier::kNetwork && view.cluster.rack_nodes.size() == 1) break;
    for (GpuTypeId type : ids<GpuTypeId>(view.cluster.type_names.size())) {
      if ((view.jobs.types[job] & type_bit(type)) == 0) continue;
      if (largest(view.cluster, type, tier) < view.jobs.gpus[job]) continue;
      if (state.rates[type][index_of(tier)] > 0) runs[index_of(tier)] |= type_bit(type);
    }
  }
  return runs;
}

Tier Dally::tier_for(DallyTier tier, std::uint32_t gpus) {
  return tier == DallyTier::kNode && gpus <= 2 ? Tier::kPair : domain_tier(tier);
}

// The network if the gang fits nowhere but on several types.
DallyTier Dally::best_tier(const State& state) {
  for (DallyTier tier : kDallyTierList) {
    if (state.runs[index_of(tier)] != 0) return tier;
  }
  return DallyTier::kNetwork;
}

double Dally::rate(const View& view, JobId job, GpuTypeId type, DallyTier tier) {
  return state(view, job).rates[type][index_of(tier)];
}

// By tier, of all types that have room there; 0 where none has.
Dally::TierRates Dally::fastest_rates(const State& state) {
  TierRates fastest{};
  for (GpuTypeId type : ids<GpuTypeId>(state.rates.size())) {
    for (DallyTier tier : kDallyTierList) {
      const std::size_t i = index_of(tier);
      if ((state.runs[i] & type_bit(type)) == 0) continue;
      fastest[i] = std::max(fastest[i], state.rates[type][i]);
    }
  }
  return fastest;
}

double Dally::fastest(const View& view, JobId job, DallyTier tier) {
  return state(view, job).fastest[index_of(tier)];
}

// The rate at the widest tier at which the job runs.
double Dally::widest(const View& view, JobId job) {
  for (DallyTier tier : {DallyTier::kNetwork, DallyTier::kRack, DallyTier::kNode}) {
    if (const double found = fastest(view, job, tier); found > 0) return found;
  }
  return 0;
}

// What communication is expected to cost the job, from how much slower it is at its widest tier
// than at its best one. 0 for a gang that must mix types.
double Dally::score(const View& view, JobId job) {
  const double best = fastest(view, job, best_tier(state(view, job)));
  if (!(best > 0)) return 0;
  const double slow = std::clamp(best / widest(view, job), 1.0, kMostScore);
  if (options_.score == DallyScore::kSlowdown) return slow - 1;
  const double communication = 1 - 1 / slow;
  const double left = to_seconds(view.work.remaining(job)) / to_seconds(view.work.total(job));
  return (slow - 1) * communication * left;
}

std::int64_t Dally::service_class(const View& view, JobId job) const {
  const GpuTime served = view.jobs.attained(job, view.now);
  return std::ranges::count_if(options_.limits_gpu_s, [&](std::int64_t limit_s) {
    return served >= occupancy(seconds(limit_s), 1);
  });
}

OrderKey Dally::order(const View& view, JobId job) {
  if (options_.preempt == DallyPreempt::kNetwork) return order_in_round(view, job);
  return {.major = service_class(view, job), .label = view.jobs.arrival[job].ms, .job = job};
}

// As the queue, but of one class the more sensitive first.
OrderKey Dally::order_in_round(const View& view, JobId job) {
  OrderKey key{.label = view.jobs.arrival[job].ms, .job = job};
  if (options_.preempt != DallyPreempt::kNetwork) key.major = service_class(view, job);
  if (moves_for_speed()) key.minor = -std::llround(score(view, job) * 1e6);
  return key;
}

void Dally::apply_news(const View& view) {
  for (const Event& event : view.news) {
    if (begins_to_wait(event.kind)) enqueue(view, event.job);
    if (!ends_job(event.kind)) continue;
    dequeue(event.job);
    states_[event.job] = {};
  }
}

void Dally::enqueue(const View& view, JobId job) {
  states_[job].since = view.now;
  states_[job].noted = {.at = {-1}};
  if (options_.timers.mode == DallyTimerOptions::Mode::kAuto && view.jobs.gpus[job] > 1) {
    states_[job].patience = {.node = worth_waiting(view, job, DallyTier::kRack),
                             .rack = worth_waiting(view, job, DallyTier::kNetwork)};
  }
  const OrderKey key = order(view, job);
  waiting_.insert(std::ranges::lower_bound(waiting_, key), key);
}

void Dally::dequeue(JobId job) {
  std::erase_if(waiting_, [&](const OrderKey& key) { return key.job == job; });
}

void Dally::refresh_timers(Time now) {
  for (std::size_t i = 0; i < now_.size(); ++i) now_[i] = timers_.of(i, now);
}

// What it would lose by being at the tier, as a time to wait.
Duration Dally::worth_waiting(const View& view, JobId job, DallyTier tier) {
  const double best = fastest(view, job, best_tier(state(view, job)));
  const double there = fastest(view, job, tier);
  if (!(there > 0) || !(best > there)) return {};
  const double loss_s = to_seconds(view.work.remaining(job)) * (1 / there - 1 / best);
  return seconds(std::llround(std::min(options_.patience * loss_s, kLongestWaitS)));
}

// Those of its size and, if they are tuned, until it has waited as long as being further apart
// would take it longer: a job that waits so long loses at most twice what it must (ours; the rule
// for renting before one buys, Karlin et al., 1988).
DallyTimers::Timers Dally::timers_of(const View& view, JobId job) {
  DallyTimers::Timers timers = now_[DallyTimers::size_class(view.jobs.gpus[job])];
  if (options_.timers.mode != DallyTimerOptions::Mode::kAuto) return timers;
  const State& known = states_[job];
  timers.node = std::max(timers.node, known.patience.node);
  timers.rack = std::max({timers.rack, timers.node, known.patience.rack});
  return timers;
}

Dally::Want Dally::want(const View& view, JobId job) {
  const State& known = state(view, job);
  if (view.jobs.gpus[job] == 1) {
    return {.gpus = 1, .types = view.jobs.types[job], .at = known.runs};
  }
  const DallyTimers::Timers timers = timers_of(view, job);
  const Duration waited = view.now - known.since;
  Want want{.gpus = view.jobs.gpus[job], .types = view.jobs.types[job]};
  const DallyTier best = best_tier(known);
  for (DallyTier tier : kDallyTierList) {
    const bool accepts = tier == best || (tier == DallyTier::kRack && waited >= timers.node) ||
                         (tier == DallyTier::kNetwork && waited >= timers.rack);
    if (accepts) want.at[index_of(tier)] = known.runs[index_of(tier)];
  }
  return want;
}

Dally::NextTier Dally::next_tier(const View& view, JobId job) {
  if (view.jobs.gpus[job] == 1) return {};
  const State& known = state(view, job);
  const DallyTimers::Timers timers = timers_of(view, job);
  const DallyTier best = best_tier(known);
  const auto end = [&](DallyTier tier, Duration timer) {
    const bool is_ahead = tier > best && known.runs[index_of(tier)] != 0 &&
                          timer < DallyTimers::kForever && known.since + timer > view.now;
    return is_ahead ? known.since + timer : Time::never();
  };
  const Time rack = end(DallyTier::kRack, timers.node);
  const Time network = end(DallyTier::kNetwork, timers.rack);
  if (rack <= network && rack != Time::never()) return {DallyTier::kRack, rack};
  return {DallyTier::kNetwork, network};
}

// Capacity only shrinks meanwhile, so who wants what was refused already is refused at once.
void Dally::start_waiting(const View& view, Plan& plan) {
  refused_.clear();
  std::erase_if(waiting_, [&](const OrderKey& key) {
    if (plan.free().total() < view.jobs.gpus[key.job]) return false;
    const Want wanted = want(view, key.job);
    if (std::ranges::find(refused_, wanted) != refused_.end()) return false;
    if (start(view, plan, key.job, wanted)) return true;
    refused_.push_back(wanted);
    return false;
  });
}

bool Dally::start(const View& view, Plan& plan, JobId job, const Want& want) {
  for (DallyTier tier : kDallyTierList) {
    const TypeMask types = want.at[index_of(tier)];
    if (types == 0 || !place_at(view, plan, job, tier, types)) continue;
    timers_.accepted(DallyTimers::size_class(want.gpus), tier, view.now,
                     view.now - states_[job].since);
    return true;
  }
  const bool must_mix = std::ranges::all_of(states_[job].runs, [](TypeMask m) { return m == 0; });
  return must_mix && place(Placement::kBestFit, view.cluster, plan, job, want.gpus, want.types);
}

// The domain that would have the fewest GPUs of the type left over, or none.
std::optional<NodeRange> Dally::domain(const View& view, const Plan& plan, GpuTypeId type,
                                       DallyTier tier, std::uint32_t gpus) {
  const FreeIndex& free = plan.free();
  if (free.of(type) < gpus) return std::nullopt;
  if (tier == DallyTier::kNetwork) return free.everywhere();
  if (tier == DallyTier::kNode) {
    const NodeId node = free.tightest(type, gpus, free.everywhere());
    if (node.is_none()) return std::nullopt;
    return NodeRange{node.row(), node.row() + 1};
  }
  return tightest_domain(view.cluster, Tier::kRack, type_bit(type), gpus,
                         [&](NodeId node) { return free.on(node); });
}

// On the type on which the job has the least time left among those with room.
bool Dally::place_at(const View& view, Plan& plan, JobId job, DallyTier tier, TypeMask types) {
  const std::uint32_t gpus = view.jobs.gpus[job];
  double best = 0;
  GpuTypeId best_type;
  NodeRange best_range;
  for (GpuTypeId type : ids<GpuTypeId>(view.cluster.type_names.size())) {
    if ((types & type_bit(type)) == 0) continue;
    const double speed = rate(view, job, type, tier);
    if (speed <= best) continue;
    const std::optional<NodeRange> range = domain(view, plan, type, tier, gpus);
    if (!range) continue;
    best = speed;
    best_type = type;
    best_range = *range;
  }
  if (best_type.is_none()) return false;
  fill(plan, best_type, best_range, gpus);
  plan.place(job);
  return true;
}

// Whole nodes first, the freest, and what is left on the tightest node with room.
void Dally::fill(Plan& plan, GpuTypeId type, NodeRange range, std::uint32_t gpus) {
  while (gpus > 0) {
    NodeId node = plan.free().tightest(type, gpus, range);
    if (node.is_none()) node = plan.free().freest(type, range);
    const std::uint32_t taken = std::min(gpus, plan.free().on(node));
    plan.take(node, taken);
    gpus -= taken;
  }
}

// When the first timer of a waiting job ends.
Time Dally::note_timers(const View& view, Plan& plan) {
  Time first = Time::never();
  for (const OrderKey& key : waiting_) {
    State& state = states_[key.job];
    const NextTier noted = state.noted;
    const bool is_noted = noted.at.ms >= 0;
    const NextTier next = next_tier(view, key.job);
    first = std::min(first, next.at);
    if (next.at == Time::never()) {
      if (!is_noted || noted.at == Time::never()) continue;
    } else if (is_noted && noted.at > view.now && noted.at != Time::never() &&
               noted.tier == next.tier) {
      // The tuner moves timers all the time; a tenth of what is left is no news.
      if (std::abs((next.at - noted.at).ms) * 10 < (next.at - view.now).ms) continue;
    }
    // The last timer is over: it is said of the tier that it was about.
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

void Dally::ask_to_be_woken(const View& view, Plan& plan, Time next_tier) {
  if (next_tier != Time::never() && (wake_ <= view.now || next_tier < wake_)) {
    wake_ = next_tier;
    plan.wake_at(wake_);
  }
  if (options_.preempt == DallyPreempt::kNone) return;
  // Where nothing runs, a round changes nothing.
  if (plan.free().all_free()) return;
  const auto could = [&](JobId job) { return could_be_faster(view, plan, job); };
  const bool is_of_use = !waiting_.empty() || std::ranges::any_of(view.running, could) ||
                         std::ranges::any_of(view.waiting, could);  // if it was placed just now
  if (is_of_use) rounds_.wake(view.now, plan);
}

void Dally::save(Writer& writer) const {
  rounds_.save(writer);
  timers_.save(writer);
  writer.time(wake_);
  writer.u64(waiting_.size());
  for (const OrderKey& key : waiting_) {
    key.save(writer);
    writer.time(states_[key.job].since);
    writer.time(states_[key.job].noted.at);
    writer.u64(index_of(states_[key.job].noted.tier));
    writer.i64(states_[key.job].patience.node.ms);
    writer.i64(states_[key.job].patience.rack.ms);
  }
}

void Dally::load(Reader& reader) {
  states_.clear();
  waiting_.clear();
  rounds_.load(reader);
  timers_.load(reader);
  wake_ = reader.time();
  for (std::uint64_t left = reader.u64(); left > 0 && reader.ok(); --left) {
    const OrderKey key = OrderKey::load(reader);
    if (!reader.ok() || key.job.is_none()) return reader.fail();
    State& state = states_.grow_to(key.job);
    state.since = reader.time();
    state.noted.at = reader.time();
    const std::uint64_t tier = reader.u64();
    if (tier >= kDallyTiers) return reader.fail();
    state.noted.tier = static_cast<DallyTier>(tier);
    state.patience.node = {reader.i64()};
    state.patience.rack = {reader.i64()};
    waiting_.push_back(key);
  }
}

}  // namespace fairlead
