// A round of Dally: who takes GPUs from whom, and who moves to where it is faster.
#include "fairlead/policy/dally/dally.h"
#include "fairlead/policy/kit/domains.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace fairlead {
namespace {

// What a victim may lose by being sent elsewhere counts twice. Two jobs of which each would gain at
// the other's cost exchange places only while one has more than twice as much to gain; what both
// have left falls, so they do so a few times at most, and not in every round (ours).
constexpr double kLossWeight = 2;

constexpr double kMostSavedS = 1e12;  // so that notes hold it

std::size_t index_of(DallyTier tier) { return static_cast<std::size_t>(tier); }

}  // namespace

DallyTier Dally::tier_of(const View& view, Gang gang) {
  const Tier tier = view.cluster.tier_of(gang);
  if (tier == Tier::kSpine) return DallyTier::kNetwork;
  return tier == Tier::kRack ? DallyTier::kRack : DallyTier::kNode;
}

double Dally::held_rate(const View& view, const Plan& plan, JobId job) {
  double slowest = std::numeric_limits<double>::infinity();
  const Gang gang = plan.gang(job);
  const DallyTier tier = tier_of(view, gang);
  for (Slice slice : gang) {
    slowest = std::min(slowest, rate(view, job, view.cluster.node_type[slice.node], tier));
  }
  return slowest;
}

// What the job saves by running at one rate instead of another to its end.
double Dally::gpu_seconds(const View& view, JobId job, double slow, double fast) const {
  if (!(slow > 0) || !(fast > 0)) return 0;
  return view.jobs.gpus[job] * to_seconds(view.work.remaining(job)) * (1 / slow - 1 / fast);
}

// A running job that would be faster elsewhere by so much that it would pay for its own restart.
bool Dally::could_be_faster(const View& view, const Plan& plan, JobId job) {
  if (!moves_for_speed() || !plan.holds(job)) return false;
  const double best = std::ranges::max(state(view, job).fastest);
  return gpu_seconds(view, job, held_rate(view, plan, job), best) >
         view.jobs.gpus[job] * to_seconds(options_.switch_cost);
}

void Dally::run_round(const View& view, Plan& plan) {
  collect_seekers(view, plan);
  if (seekers_.empty()) return;
  collect_runners(view, plan);
  for (const Seeker& seeker : seekers_) {
    if (states_[seeker.key.job].moved != view.now) improve(view, plan, seeker);
  }
}

// What a waiting job could have at once if it did not wait for better; 0 if nothing.
double Dally::rate_of_what_is_free(const View& view, const Plan& plan, JobId job) {
  for (DallyTier tier : kDallyTierList) {
    double fastest = 0;
    for (GpuTypeId type : ids<GpuTypeId>(view.cluster.type_names.size())) {
      if ((state(view, job).runs[index_of(tier)] & type_bit(type)) == 0) continue;
      if (!domain(view, plan, type, tier, view.jobs.gpus[job])) continue;
      fastest = std::max(fastest, rate(view, job, type, tier));
    }
    if (fastest > 0) return fastest;
  }
  return 0;
}

// The types that have room for the job at the tier, where it is faster than that.
TypeMask Dally::faster_than(const View& view, JobId job, DallyTier tier, double rate) {
  TypeMask faster = 0;
  const State& known = state(view, job);
  for (GpuTypeId type : ids<GpuTypeId>(known.rates.size())) {
    if (known.rates[type][index_of(tier)] > rate) faster |= type_bit(type);
  }
  return faster & known.runs[index_of(tier)];
}

// A job of the last class that is as fast at any distance has nothing to gain at others' cost.
bool Dally::may_gain_by_preemption(const View& view, const OrderKey& key) {
  return static_cast<std::size_t>(key.major) < options_.limits_gpu_s.size() ||
         (moves_for_speed() &&
          widest(view, key.job) < fastest(view, key.job, best_tier(state(view, key.job))));
}

void Dally::collect_seekers(const View& view, const Plan& plan) {
  seekers_.clear();
  for (const OrderKey& key : waiting_) {
    if (may_gain_by_preemption(view, key)) {
      seekers_.push_back({.key = order_in_round(view, key.job),
                          .is_running = false,
                          .want = want(view, key.job),
                          .alternative = rate_of_what_is_free(view, plan, key.job),
                          .best = fastest(view, key.job, best_tier(states_[key.job]))});
    }
  }
  for (JobId job : view.running) {
    if (!could_be_faster(view, plan, job)) continue;
    Seeker seeker{.key = order_in_round(view, job),
                  .is_running = true,
                  .want = {.gpus = view.jobs.gpus[job]},
                  .alternative = held_rate(view, plan, job)};
    for (DallyTier tier : kDallyTierList) {
      seeker.want.at[index_of(tier)] = faster_than(view, job, tier, seeker.alternative);
    }
    seekers_.push_back(seeker);
  }
  std::ranges::sort(seekers_, {}, &Seeker::key);
}

// The least rate of all places that have room for the job; 0 if none has.
double Dally::slowest(const View& view, JobId job) {
  const State& known = state(view, job);
  double slowest = 0;
  for (GpuTypeId type : ids<GpuTypeId>(known.rates.size())) {
    for (DallyTier tier : kDallyTierList) {
      if ((known.runs[index_of(tier)] & type_bit(type)) == 0) continue;
      const double there = known.rates[type][index_of(tier)];
      if (slowest == 0 || there < slowest) slowest = there;
    }
  }
  return slowest;
}

void Dally::collect_runners(const View& view, const Plan& plan) {
  runners_.clear();
  const auto add = [&](JobId job) {
    const double held = held_rate(view, plan, job);
    const double loss = gpu_seconds(view, job, slowest(view, job), held);
    runners_.push_back({order_in_round(view, job), view.jobs.gpus[job], std::max(loss, 0.0)});
  };
  // A job placed in this decision is left alone.
  for (JobId job : view.running) {
    if (plan.holds(job) && states_[job].moved != view.now) add(job);
  }
  std::ranges::sort(runners_, std::greater<>(), &Runner::key);
  holders_.resize(view.cluster.nodes());
  for (NodeId node : ids<NodeId>(holders_.size())) holders_[node].clear();
  for (std::size_t i = 0; i < runners_.size(); ++i) {
    for (Slice slice : plan.gang(runners_[i].key.job)) {
      holders_[slice.node].push_back({i, slice.gpus});
    }
  }
}

bool Dally::may_stop(const View& view, const Plan& plan, const Seeker& seeker,
                     const Runner& runner) const {
  const JobId job = runner.key.job;
  if (job == seeker.key.job || !plan.holds(job) || states_[job].moved == view.now) return false;
  // Input order and arrival are no reason to stop a job.
  return std::pair(seeker.key.major, seeker.key.minor) <
         std::pair(runner.key.major, runner.key.minor);
}

void Dally::improve(const View& view, Plan& plan, const Seeker& seeker) {
  const Plan::Mark before = plan.mark();
  if (seeker.is_running) plan.stop(seeker.key.job);  // it may stay on some of its GPUs
  const std::optional<Offer> offer = best_offer(view, plan, seeker);
  if (offer) return carry_out(view, plan, seeker, *offer);
  plan.rollback(before);
}

// Of all domains that the seeker may have, the one that saves most; none if none pays.
std::optional<Dally::Offer> Dally::best_offer(const View& view, const Plan& plan,
                                              const Seeker& seeker) {
  std::optional<Offer> best;
  for (DallyTier tier : kDallyTierList) {
    for (GpuTypeId type : ids<GpuTypeId>(view.cluster.type_names.size())) {
      if ((seeker.want.at[index_of(tier)] & type_bit(type)) == 0) continue;
      look_for_better(view, plan, seeker, {.tier = tier, .type = type}, best);
    }
  }
  return best;
}

// Through the domains of the offer's tier.
void Dally::look_for_better(const View& view, const Plan& plan, const Seeker& seeker, Offer offer,
                            std::optional<Offer>& best) {
  const double most = saving(view, seeker, offer) + value_of_turn(view, seeker);
  for (NodeRange range : Domains(view.cluster, domain_tier(offer.tier))) {
    if (most <= (best ? best->gain : 0)) return;
    offer.range = range;
    if (!choose_victims(view, plan, seeker, offer)) continue;
    offer.gain = gain(view, seeker, offer);
    if (offer.gain > (best ? best->gain : 0)) best = offer;
  }
}

std::uint32_t Dally::held_in(const View& view, const Plan& plan, JobId job, const Offer& offer) {
  std::uint32_t gpus = 0;
  for (Slice slice : plan.gang(job)) {
    const std::uint32_t row = slice.node.row();
    const bool is_there = row >= offer.range.begin && row < offer.range.end;
    if (is_there && view.cluster.node_type[slice.node] == offer.type) gpus += slice.gpus;
  }
  return gpus;
}

// The last in order whose GPUs are enough together, less those who turn out not to be needed.
bool Dally::choose_victims(const View& view, const Plan& plan, const Seeker& seeker, Offer& offer) {
  offer.victims.clear();
  std::uint32_t gpus = gpus_in(view.cluster, offer.range, type_bit(offer.type),
                               [&](NodeId node) { return plan.free().on(node); });
  chosen_.clear();
  const auto take = [&](Holder holder) {
    if (!may_stop(view, plan, seeker, runners_[holder.runner])) return;
    chosen_.push_back(holder);
    gpus += holder.gpus;
  };
  if (offer.range.end - offer.range.begin == 1) {
    if (view.cluster.node_type[NodeId(offer.range.begin)] != offer.type) return false;
    for (Holder holder : holders_[NodeId(offer.range.begin)]) {
      if (gpus >= seeker.want.gpus) break;
      take(holder);
    }
  } else {
    for (std::size_t i = 0; i < runners_.size() && gpus < seeker.want.gpus; ++i) {
      const std::uint32_t held = held_in(view, plan, runners_[i].key.job, offer);
      if (held > 0) take({i, held});
    }
  }
  if (gpus < seeker.want.gpus) return false;
  for (auto holder = chosen_.rbegin(); holder != chosen_.rend(); ++holder) {
    if (gpus - holder->gpus < seeker.want.gpus) {
      offer.victims.push_back(holder->runner);
    } else {
      gpus -= holder->gpus;
    }
  }
  return true;
}

// What the seeker saves by its new place, less its own restart, in GPU-seconds.
double Dally::saving(const View& view, const Seeker& seeker, const Offer& offer) {
  if (!moves_for_speed()) return 0;
  const JobId job = seeker.key.job;
  const double fast = rate(view, job, offer.type, offer.tier);
  const double saved = gpu_seconds(view, job, seeker.alternative, fast);
  if (!seeker.is_running) return saved;
  return saved - view.jobs.gpus[job] * to_seconds(options_.switch_cost);
}

// Jobs served less go first: what a waiting job is served before it leaves its class, if
// it lives that long, is what it would otherwise wait for. In GPU-seconds.
double Dally::value_of_turn(const View& view, const Seeker& seeker) const {
  const auto level = static_cast<std::size_t>(seeker.key.major);
  if (seeker.is_running || level >= options_.limits_gpu_s.size()) return 0;
  const JobId job = seeker.key.job;
  const GpuTime until = occupancy(seconds(options_.limits_gpu_s[level]), 1);
  const auto left_ms = static_cast<double>((until - view.jobs.attained(job, view.now)).gpu_ms);
  const double to_end_s = view.jobs.gpus[job] * to_seconds(view.work.remaining(job));
  return std::min(left_ms / 1000, to_end_s / seeker.best);
}

// What the seeker saves less what it costs all jobs, in GPU-seconds.
double Dally::gain(const View& view, const Seeker& seeker, const Offer& offer) {
  double gain = saving(view, seeker, offer);
  bool by_class = !offer.victims.empty();
  for (std::size_t victim : offer.victims) {
    const Runner& runner = runners_[victim];
    gain -= runner.gpus * to_seconds(options_.switch_cost);
    const bool is_of_later_class = runner.key.major > seeker.key.major;
    by_class &= is_of_later_class;
    if (seeker.is_running || !is_of_later_class) gain -= kLossWeight * runner.loss;
  }
  return by_class ? gain + value_of_turn(view, seeker) : gain;
}

void Dally::carry_out(const View& view, Plan& plan, const Seeker& seeker, const Offer& offer) {
  const JobId job = seeker.key.job;
  for (std::size_t victim : offer.victims) {
    const JobId stopped = runners_[victim].key.job;
    plan.stop(stopped);
    states_[stopped].moved = view.now;
    enqueue(view, stopped);
    plan.note(note::MadeRoom{stopped, job});
  }
  if (!seeker.is_running) {
    dequeue(job);
    timers_.accepted(DallyTimers::size_class(seeker.want.gpus), offer.tier, view.now,
                     view.now - states_[job].since);
  }
  states_[job].moved = view.now;
  fill(plan, offer.type, offer.range, seeker.want.gpus);
  plan.place(job);
  plan.note(note::Score{job, note::Millionths::of(score(view, job))});
  const double saved_s = std::min(offer.gain, kMostSavedS);  // GPU-seconds
  plan.note(note::Saving{job, {std::llround(saved_s * 1000)}});
}

}  // namespace fairlead
