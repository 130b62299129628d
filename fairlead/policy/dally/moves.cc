#include "fairlead/policy/dally/moves.h"

#include "fairlead/model/levels.h"
#include "fairlead/model/step.h"
#include "fairlead/policy/kit/domains.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace fairlead {
namespace {

constexpr double kMostSavedS = 1e12;  // so that it fits into a note

bool is_in(const View& view, const DallyPlace& place, NodeId node) {
  const bool is_there = node.row() >= place.range.begin && node.row() < place.range.end;
  return is_there && view.cluster.node_type[node] == place.type;
}

// Returns true if part of the gang is in the place.
bool is_in(const View& view, const DallyPlace& place, Gang gang) {
  return std::ranges::any_of(gang, [&](Slice slice) { return is_in(view, place, slice.node); });
}

}  // namespace

void DallyMoves::run(const View& view, Plan& plan) {
  collect_seekers(view, plan);
  if (seekers_.empty()) return;
  collect_runners(view, plan);
  for (const Seeker& seeker : seekers_) {
    const std::size_t runner = runner_of_[seeker.key.job];
    if (runner == 0 || !runners_[runner - 1].is_settled) improve(view, plan, seeker);
  }
}

// Returns the rate of the gang's slowest member, with its links as they are shared.
double DallyMoves::present_rate(const View& view, const Plan& plan, JobId job) const {
  double slowest = std::numeric_limits<double>::infinity();
  const Gang gang = plan.gang(job);
  const DallyTier tier = dally_tier_of(view.cluster, gang);
  const JobTiers& tiers = tiers_.of(view, job);
  for (Slice slice : gang) {
    slowest = std::min(slowest, tiers.rate(view.cluster.node_type[slice.node], tier));
  }
  return slowest * crowding_.speed(job);
}

bool DallyMoves::could_be_faster(const View& view, const Plan& plan, JobId job) const {
  if (!options_.moves_for_speed() || !plan.has_gang(job)) return false;
  const double best = tiers_.of(view, job).fastest();
  return gpu_seconds(view, job, present_rate(view, plan, job), best) >
         view.jobs.gpus[job] * to_seconds(options_.switch_cost);
}

// Returns the pace that a waiting job could have at once if it did not wait for better; 0 if none.
DallyMoves::Pace DallyMoves::pace_of_what_is_free(const View& view, Plan& plan, JobId job) {
  const JobTiers& tiers = tiers_.of(view, job);
  for (DallyTier tier : kDallyTierList) {
    const auto place = fastest_place(view, plan, tiers, tier, tiers.types(tier), job);
    if (!place) continue;
    Pace pace{.rate = tiers.rate(place->type, tier)};
    if (crowding_.is_seen() && tier > DallyTier::kNode) {
      const Plan::Mark before = plan.mark();
      place_there(view, plan, *place, job);
      pace.rate *= crowding_.speed_at(view, job, plan.gang(job));
      pace.loss_of_others = crowding_.loss_of_others(view, job, plan.gang(job));
      plan.rollback(before);
    }
    return pace;
  }
  return {};
}

DallyMoves::Pace DallyMoves::present_pace(const View& view, const Plan& plan, JobId job) {
  Pace pace{.rate = present_rate(view, plan, job)};
  crowding_.stopped(job);
  pace.loss_of_others = crowding_.loss_of_others(view, job, plan.gang(job));
  crowding_.placed(view, plan, job);
  return pace;
}

// A job of the last class that is equally fast at any distance has nothing to gain at others' cost.
bool DallyMoves::may_gain_by_preemption(const View& view, const OrderKey& key) const {
  if (!order_.is_last_class(key.major)) return true;
  const JobTiers& tiers = tiers_.of(view, key.job);
  return options_.moves_for_speed() && tiers.at_widest() < tiers.at_best();
}

void DallyMoves::collect_seekers(const View& view, Plan& plan) {
  seekers_.clear();
  for (const OrderKey& key : waiting_.jobs()) {
    if (may_gain_by_preemption(view, key)) {
      seekers_.push_back({.key = order_.round(view, key.job),
                          .is_running = false,
                          .types = waiting_.accepts(view, key.job),
                          .otherwise = pace_of_what_is_free(view, plan, key.job),
                          .best = tiers_.of(view, key.job).at_best()});
    }
  }
  for (JobId job : view.running) {
    if (!could_be_faster(view, plan, job)) continue;
    Seeker seeker{.key = order_.round(view, job),
                  .is_running = true,
                  .otherwise = present_pace(view, plan, job)};
    for (DallyTier tier : kDallyTierList) {
      seeker.types[index_of(tier)] = tiers_.of(view, job).faster_than(tier, seeker.otherwise.rate);
    }
    seekers_.push_back(seeker);
  }
  std::ranges::sort(seekers_, {}, &Seeker::key);
}

// Jobs placed in this decision are not collected, so they are left alone.
void DallyMoves::collect_runners(const View& view, const Plan& plan) {
  runners_.clear();
  for (JobId job : view.running) {
    if (!plan.has_gang(job)) continue;
    const double present = present_rate(view, plan, job);
    const double loss = gpu_seconds(view, job, tiers_.of(view, job).slowest(), present);
    runners_.push_back({order_.round(view, job), view.jobs.gpus[job], std::max(loss, 0.0)});
  }
  std::ranges::sort(runners_, std::greater<>(), &Runner::key);
  runners_on_.resize(view.cluster.nodes());
  for (NodeId node : ids<NodeId>(runners_on_.size())) runners_on_[node].clear();
  runner_of_.clear();
  runner_of_.resize(view.jobs.size());
  for (std::size_t i = 0; i < runners_.size(); ++i) {
    const JobId job = runners_[i].key.job;
    runner_of_[job] = i + 1;
    for (Slice slice : plan.gang(job)) runners_on_[slice.node].push_back(i);
  }
}

bool DallyMoves::may_stop(const Plan& plan, const Seeker& seeker, const Runner& runner) const {
  const JobId job = runner.key.job;
  if (job == seeker.key.job || !plan.has_gang(job) || runner.is_settled) return false;
  // A lower place in input order or by arrival does not justify stopping a job.
  return std::pair(seeker.key.major, seeker.key.minor) <
         std::pair(runner.key.major, runner.key.minor);
}

void DallyMoves::improve(const View& view, Plan& plan, const Seeker& seeker) {
  const JobId job = seeker.key.job;
  const Plan::Mark before = plan.mark();
  if (seeker.is_running) {  // it may stay on some of its GPUs
    plan.stop(job, StopCause::kMove);
    crowding_.stopped(job);
  }
  const std::optional<Offer> offer = best_offer(view, plan, seeker);
  if (offer) return carry_out(view, plan, seeker, *offer);
  plan.rollback(before);
  if (seeker.is_running) crowding_.placed(view, plan, job);
}

// Returns the domain, among all that the seeker may have, that saves most; none if none pays.
std::optional<DallyMoves::Offer> DallyMoves::best_offer(const View& view, Plan& plan,
                                                        const Seeker& seeker) {
  std::optional<Offer> best;
  for (DallyTier tier : kDallyTierList) {
    for (GpuTypeId type : ids<GpuTypeId>(view.cluster.type_names.size())) {
      if ((seeker.types[index_of(tier)] & type_bit(type)) == 0) continue;
      look_for_better(view, plan, seeker, {.place = {.tier = tier, .type = type}}, best);
    }
  }
  return best;
}

// Tries the domains of the offer's tier.
void DallyMoves::look_for_better(const View& view, Plan& plan, const Seeker& seeker, Offer offer,
                                 std::optional<Offer>& best) {
  const double most = most_saved(view, seeker, offer) + value_of_turn(view, seeker);
  const auto look = [&](NodeRange range) {
    if (most <= (best ? best->gain : 0)) return;
    offer.place.range = range;
    if (!choose_victims(view, plan, seeker, offer)) return;
    offer.gain = gain(view, plan, seeker, offer);
    if (offer.gain > (best ? best->gain : 0)) best = offer;
  };
  const Level required = view.jobs.closeness[seeker.key.job].required;
  if (offer.place.tier == DallyTier::kNetwork) {
    return for_each_section(view.cluster, required, look);
  }
  for (NodeRange range : Domains(view.cluster, domain_tier(offer.place.tier))) look(range);
}

// Sets the room to the GPUs of the domain that the seeker's tasks could use now.
void DallyMoves::begin_room(const View& view, const Plan& plan, const Seeker& seeker,
                            const Offer& offer) {
  room_ = {.task_gpus = view.jobs.task_gpus[seeker.key.job], .on = std::move(room_.on)};
  room_.on.resize(view.cluster.nodes());
  room_.gpus =
      gpus_in(view.cluster, offer.place.range, type_bit(offer.place.type), [&](NodeId node) {
        room_.on[node] = plan.free().on(node);
        return whole_tasks(room_.on[node], room_.task_gpus);
      });
}

// Updates the room for a runner that is gone or that is there again.
void DallyMoves::change_room(const View& view, const Plan& plan, const Offer& offer,
                             std::size_t runner, bool is_gone) {
  for (Slice slice : plan.gang(runners_[runner].key.job)) {
    if (!is_in(view, offer.place, slice.node)) continue;
    std::uint32_t& on = room_.on[slice.node];
    room_.gpus -= whole_tasks(on, room_.task_gpus);
    on = is_gone ? on + slice.gpus : on - slice.gpus;
    room_.gpus += whole_tasks(on, room_.task_gpus);
  }
}

// Chooses the last runners in order with enough GPUs together, without those found unnecessary.
bool DallyMoves::choose_victims(const View& view, const Plan& plan, const Seeker& seeker,
                                Offer& offer) {
  const NodeRange range = offer.place.range;
  const std::uint32_t needed = view.jobs.gpus[seeker.key.job];
  offer.victims.clear();
  begin_room(view, plan, seeker, offer);
  chosen_.clear();
  const auto take = [&](std::size_t runner) {
    if (!may_stop(plan, seeker, runners_[runner])) return;
    chosen_.push_back(runner);
    change_room(view, plan, offer, runner, true);
  };
  if (range.end - range.begin == 1) {
    if (view.cluster.node_type[NodeId(range.begin)] != offer.place.type) return false;
    for (std::size_t runner : runners_on_[NodeId(range.begin)]) {
      if (room_.gpus >= needed) break;
      take(runner);
    }
  } else {
    for (std::size_t i = 0; i < runners_.size() && room_.gpus < needed; ++i) {
      if (is_in(view, offer.place, plan.gang(runners_[i].key.job))) take(i);
    }
  }
  if (room_.gpus < needed) return false;
  for (auto runner = chosen_.rbegin(); runner != chosen_.rend(); ++runner) {
    change_room(view, plan, offer, *runner, false);
    if (room_.gpus >= needed) continue;
    offer.victims.push_back(*runner);
    change_room(view, plan, offer, *runner, true);
  }
  return true;
}

void DallyMoves::carry_out(const View& view, Plan& plan, const Seeker& seeker, const Offer& offer) {
  const JobId job = seeker.key.job;
  for (std::size_t victim : offer.victims) {
    const JobId stopped = runners_[victim].key.job;
    plan.stop(stopped, StopCause::kPriority);
    crowding_.stopped(stopped);
    runners_[victim].is_settled = true;
    waiting_.add(view, order_.queue(view, stopped));
    plan.note(note::MadeRoom{stopped, job});
  }
  if (seeker.is_running) {
    runners_[runner_of_[job] - 1].is_settled = true;
  } else {
    waiting_.accepted(view, job, offer.place.tier);
    waiting_.remove(job);
  }
  place_there(view, plan, offer.place, job);
  crowding_.placed(view, plan, job);
  plan.note(note::Score{job, note::Millionths::of(order_.score(view, job))});
  const double saved_s = std::min(offer.gain, kMostSavedS);  // GPU-seconds
  plan.note(note::Saving{job, {std::llround(saved_s * 1000)}});
}

}  // namespace fairlead
