#include "fairlead/policy/dally/moves.h"

#include "fairlead/model/levels.h"
#include "fairlead/model/step.h"
#include "fairlead/policy/kit/domains.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

namespace fairlead {
namespace {

constexpr double kMostSavedS = 1e12;  // so that it fits into a note

}  // namespace

void DallyMoves::run(const View& view, Plan& plan) {
  collect_seekers(view, plan);
  if (seekers_.empty()) return;
  collect_runners(view, plan);
  for (const DallySeeker& seeker : seekers_) {
    if (!victims_.is_settled(seeker.key.job)) improve(view, plan, seeker);
  }
}

bool DallyMoves::could_be_faster(const View& view, const Plan& plan, JobId job) const {
  if (!options_.moves_for_speed() || !plan.has_gang(job) || plan.is_pinned(job)) return false;
  const double best = tiers_.of(view, job).fastest();
  const double present = paces_.present_rate(view, plan, job);
  return DallyGains::of_rate(view, job, present, best) > gains_.restart(view, job);
}

// A job of the last class that is equally fast at any distance has nothing to gain at others' cost.
bool DallyMoves::may_gain_by_preemption(const View& view, const OrderKey& key) const {
  if (!order_.is_last_class(key.major)) return true;
  const JobTiers& tiers = tiers_.of(view, key.job);
  return options_.moves_for_speed() && tiers.at_widest() < tiers.at_best();
}

void DallyMoves::collect_seekers(const View& view, Plan& plan) {
  seekers_.clear();
  paces_.begin();
  for (const OrderKey& key : waiting_.jobs()) {
    if (!plan.is_pinned(key.job) && may_gain_by_preemption(view, key) && plan.examine(key.job)) {
      seekers_.push_back({.key = order_.round(view, key.job),
                          .is_running = false,
                          .types = waiting_.accepts(view, key.job),
                          .otherwise = paces_.on_free_gpus(view, plan, key.job),
                          .best = tiers_.of(view, key.job).at_best()});
    }
  }
  for (JobId job : view.running) {
    if (!could_be_faster(view, plan, job)) continue;
    DallySeeker seeker{.key = order_.round(view, job),
                       .is_running = true,
                       .otherwise = paces_.present(view, plan, job)};
    for (DallyTier tier : kDallyTierList) {
      seeker.types[index_of(tier)] = tiers_.of(view, job).faster_than(tier, seeker.otherwise.rate);
    }
    seekers_.push_back(seeker);
  }
  std::ranges::sort(seekers_, {}, &DallySeeker::key);
}

// Jobs placed in this decision are not collected, so they are left alone; nor are pinned jobs, which could
// not continue elsewhere.
void DallyMoves::collect_runners(const View& view, const Plan& plan) {
  std::vector<DallyVictims::Runner> runners;
  for (JobId job : view.running) {
    if (!plan.has_gang(job) || plan.is_pinned(job)) continue;
    const double present = paces_.present_rate(view, plan, job);
    const double loss = DallyGains::of_rate(view, job, tiers_.of(view, job).slowest(), present);
    runners.push_back({order_.round(view, job), view.jobs.gpus[job], std::max(loss, 0.0)});
  }
  victims_.begin(view, plan, std::move(runners));
}

void DallyMoves::improve(const View& view, Plan& plan, const DallySeeker& seeker) {
  const JobId job = seeker.key.job;
  victims_.begin_seeker(plan, {seeker.key, gang_asked(view.jobs, job), seeker.is_running});
  const Plan::Mark before = plan.mark();
  if (seeker.is_running) {  // it may stay on some of its GPUs
    victims_.changed(plan.gang(job));
    plan.stop(job, StopCause::kMove);
    crowding_.stopped(job);
  }
  const std::optional<Offer> offer = best_offer(view, plan, seeker);
  if (offer) return carry_out(view, plan, seeker, *offer);
  if (!seeker.is_running) return;
  plan.rollback(before);
  crowding_.placed(view, plan, job);
  victims_.changed(plan.gang(job));
}

// Returns the domain, among all that the seeker may have, that saves most; none if none pays.
std::optional<DallyMoves::Offer> DallyMoves::best_offer(const View& view, Plan& plan,
                                                        const DallySeeker& seeker) {
  std::optional<Offer> best;
  for (DallyTier tier : kDallyTierList) {
    for (GpuTypeId type : ids<GpuTypeId>(view.cluster.type_names.size())) {
      if ((seeker.types[index_of(tier)] & type_bit(type)) == 0) continue;
      look_for_better(view, plan, seeker, {.place = {.tier = tier, .type = type}}, best);
    }
  }
  return best;
}

// Tries the domains of the offer's tier; of nodes, only the cheapest.
void DallyMoves::look_for_better(const View& view, Plan& plan, const DallySeeker& seeker,
                                 Offer offer, std::optional<Offer>& best) {
  double most = gains_.most_saved(view, seeker, offer.place);
  if (victims_.has_later_class()) most += gains_.value_of_turn(view, seeker);
  const auto can_be_better = [&] { return most > (best ? best->gain : 0); };
  const auto look = [&](NodeRange range) {
    if (!can_be_better()) return;
    offer.place.range = range;
    if (!victims_.choose(view, plan, offer.place)) return;
    const std::span<const JobId> victims = victims_.chosen();
    offer.victims.assign(victims.begin(), victims.end());
    offer.gain = gain(view, plan, seeker, offer);
    if (offer.gain > (best ? best->gain : 0)) best = offer;
  };
  if (!can_be_better()) return;
  if (offer.place.tier == DallyTier::kNetwork) {
    return for_each_section(view.cluster, view.jobs.closeness[seeker.key.job].required, look);
  }
  if (offer.place.tier == DallyTier::kRack) {
    for (NodeRange rack : Domains(view.cluster, Tier::kRack)) look(rack);
    return;
  }
  for (NodeId node : victims_.cheapest_nodes(view, plan, offer.place.type)) {
    if (!node.is_none()) look({node.row(), node.row() + 1});
  }
}

// Returns whether other resources than GPUs leave room for the job once the victims are gone.
bool DallyMoves::has_room(const View& view, Plan& plan, JobId job, const Offer& offer) {
  const Plan::Mark before = plan.mark();
  for (JobId victim : offer.victims) plan.stop(victim, StopCause::kPriority);
  const bool is_placed = place_there(view, plan, offer.place, job);
  plan.rollback(before);
  return is_placed;
}

// Returns the savings of the seeker less the cost to all jobs.
double DallyMoves::gain(const View& view, Plan& plan, const DallySeeker& seeker,
                        const Offer& offer) {
  const JobId job = seeker.key.job;
  if (plan.room().is_limited() && !has_room(view, plan, job, offer)) return 0;
  const DallyVictims::Cost cost = victims_.cost();
  const DallyPace there = paces_.without(view, plan, offer.victims, job, offer.place);
  const double gain = gains_.saved(view, seeker, there) - cost.gpu_s;
  return cost.by_class ? gain + gains_.value_of_turn(view, seeker) : gain;
}

void DallyMoves::carry_out(const View& view, Plan& plan, const DallySeeker& seeker,
                           const Offer& offer) {
  const JobId job = seeker.key.job;
  for (JobId stopped : offer.victims) {
    victims_.settle(plan, stopped);
    plan.stop(stopped, StopCause::kPriority);
    crowding_.stopped(stopped);
    waiting_.add(view, order_.queue(view, stopped));
    plan.note(note::MadeRoom{stopped, job});
  }
  if (seeker.is_running) {
    victims_.settle(plan, job);
  } else {
    waiting_.accepted(view, job, offer.place.tier);
    waiting_.remove(job);
  }
  place_there(view, plan, offer.place, job);
  victims_.changed(plan.gang(job));
  crowding_.placed(view, plan, job);
  plan.note(note::Score{job, note::Millionths::of(order_.score(view, job))});
  const double saved_s = std::min(offer.gain, kMostSavedS);  // GPU-seconds
  plan.note(note::Saving{job, {std::llround(saved_s * 1000)}});
}

}  // namespace fairlead
