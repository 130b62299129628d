// The savings and costs of a place in a round of Dally, in GPU-seconds.
#include "fairlead/model/known_work.h"
#include "fairlead/model/step.h"
#include "fairlead/policy/dally/moves.h"

#include <algorithm>

namespace fairlead {

// Returns the savings of the job from running at one rate instead of another to its end.
double DallyMoves::gpu_seconds(const View& view, JobId job, double slow, double fast) const {
  if (!(slow > 0) || !(fast > 0)) return 0;
  return view.jobs.gpus[job] * to_seconds(view.work.remaining(job)) * (1 / slow - 1 / fast);
}

// Returns the savings of the job and others from its new place, less its own restart.
double DallyMoves::saved(const View& view, const Seeker& seeker, const Pace& there) const {
  if (!options_.moves_for_speed()) return 0;
  const JobId job = seeker.key.job;
  double saved = gpu_seconds(view, job, seeker.otherwise.rate, there.rate);
  const double left_s = to_seconds(view.work.remaining(job));
  if (seeker.otherwise.rate > 0) {
    saved += left_s / seeker.otherwise.rate * seeker.otherwise.loss_of_others;
  }
  if (there.rate > 0) saved -= left_s / there.rate * there.loss_of_others;
  if (!seeker.is_running) return saved;
  return saved - view.jobs.gpus[job] *
                     to_seconds(options_.switch_cost + view.jobs.lost_by_move(job, view.now));
}

// Returns the savings if no link there were crowded.
double DallyMoves::most_saved(const View& view, const Seeker& seeker, const Offer& offer) const {
  const JobTiers& tiers = tiers_.of(view, seeker.key.job);
  return saved(view, seeker, {.rate = tiers.rate(offer.place.type, offer.place.tier)});
}

// Jobs served less go first. The value of a waiting job's turn is the service that it would
// otherwise wait for: until it leaves its class, if it lives that long.
double DallyMoves::value_of_turn(const View& view, const Seeker& seeker) const {
  if (seeker.is_running || order_.is_last_class(seeker.key.major)) return 0;
  const JobId job = seeker.key.job;
  const double in_class_s = order_.left_in_class(view, job, seeker.key.major);
  const double to_end_s = view.jobs.gpus[job] * to_seconds(view.work.remaining(job));
  return std::min(in_class_s, to_end_s / seeker.best);
}

// Returns its speed there once the victims are gone. The draft is unchanged on return.
DallyMoves::Pace DallyMoves::pace_there(const View& view, Plan& plan, const Seeker& seeker,
                                        const Offer& offer) {
  const JobId job = seeker.key.job;
  Pace pace{.rate = tiers_.of(view, job).rate(offer.place.type, offer.place.tier)};
  if (!crowding_.is_seen() || offer.place.tier == DallyTier::kNode) return pace;
  const Plan::Mark before = plan.mark();
  for (JobId victim : offer.victims) {
    plan.stop(victim, StopCause::kPriority);
    crowding_.stopped(victim);
  }
  place_there(view, plan, offer.place, job);
  pace.rate *= crowding_.speed_at(view, job, plan.gang(job));
  pace.loss_of_others = crowding_.loss_of_others(view, job, plan.gang(job));
  plan.rollback(before);
  for (JobId victim : offer.victims) crowding_.placed(view, plan, victim);
  return pace;
}

// Returns whether other resources than GPUs leave room for the seeker once the victims are gone.
bool DallyMoves::has_room(const View& view, Plan& plan, const Seeker& seeker, const Offer& offer) {
  const Plan::Mark before = plan.mark();
  for (JobId victim : offer.victims) plan.stop(victim, StopCause::kPriority);
  const bool is_placed = place_there(view, plan, offer.place, seeker.key.job);
  plan.rollback(before);
  return is_placed;
}

// Returns the savings of the seeker less the cost to all jobs.
double DallyMoves::gain(const View& view, Plan& plan, const Seeker& seeker, const Offer& offer) {
  if (plan.room().is_limited() && !has_room(view, plan, seeker, offer)) return 0;
  const DallyVictims::Cost cost = victims_.cost();
  const double gain = saved(view, seeker, pace_there(view, plan, seeker, offer)) - cost.gpu_s;
  return cost.by_class ? gain + value_of_turn(view, seeker) : gain;
}

}  // namespace fairlead
