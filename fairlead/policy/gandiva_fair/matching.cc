#include "fairlead/policy/gandiva_fair/matching.h"

#include "fairlead/model/known_speed.h"

#include <algorithm>

namespace fairlead {

void Matching::match(const View& view, const CarryOut& carry_out) {
  constexpr int kMovesOfUser = 4;
  if (homes_.nodes().types() < 2) return;
  for (UserId user : accounts_.due().demand().active()) {
    for (int moves = 0; moves < kMovesOfUser; ++moves) {
      const Move move = best_match(view, user);
      if (move.is_none()) break;
      carry_out(move);
    }
  }
  for (UserId user : accounts_.due().demand().active()) {
    const Move move = to_spare(view, user);
    if (!move.is_none()) carry_out(move);
  }
}

// --- To where the user keeps too little -------------------------------------------------------

// Returns the move that gains the user the most, if its gain is enough.
Move Matching::best_match(const View& view, UserId user) {
  constexpr double kWorthALook = 0.5;  // GPUs
  Candidate best;
  for (GpuTypeId to : ids<GpuTypeId>(homes_.nodes().types())) {
    const double due = accounts_.due().traded(user, to);
    const auto kept = static_cast<double>(accounts_.due().kept().gpus(user, to));
    if ((1 + spare(user)) * due - kept < kWorthALook) continue;
    for (GpuTypeId from : ids<GpuTypeId>(homes_.nodes().types())) {
      if (from != to) improve(view, user, from, to, best);
    }
  }
  if (best.job.is_none()) return {};
  return {best.job, choice_.find_on(view, best.job, best.to)};
}

// Replaces the best move by one between these types if that gains more.
void Matching::improve(const View& view, UserId user, GpuTypeId from, GpuTypeId to,
                       Candidate& best) {
  constexpr int kLooks = 32;  // jobs
  JobId job = homes_.first_kept(user, from);
  for (int looks = 0; looks < kLooks && !job.is_none(); ++looks, job = homes_.next_kept(job)) {
    if (!cool_down_.may_move(view, job)) continue;
    if ((view.jobs.types[job] & type_bit(to)) == 0) continue;
    const double gain = gain_of(view, job, to) - 2 * gain_ * view.jobs.gpus[job];
    if (gain <= best.gain) continue;
    if (!choice_.find_on(view, job, to).is_none()) best = {job, to, gain};
  }
}

// Returns the throughput that moving the job to the type adds, in GPUs of the slower of the two
// types.
double Matching::gain_of(const View& view, JobId job, GpuTypeId to) const {
  const GpuTypeId from = homes_.of(job).type;
  const UserId user = view.jobs.user[job];
  const std::int64_t gpus = view.jobs.gpus[job];
  const double speed_from = speed_on(view, job, from);
  const double speed_to = speed_on(view, job, to);
  // It runs all the time where all jobs fit, whatever its user is entitled to.
  const double lost = runs_always(job) ? static_cast<double>(gpus)
                                       : usable(user, from, 0) - usable(user, from, -gpus);
  const double won = usable(user, to, gpus) - usable(user, to, 0);
  return (won * speed_to - lost * speed_from) / std::min(speed_from, speed_to);
}

// Returns the part of its entitlement on a type that the user may keep there in addition: at most
// as much again, and no more than it keeps in sum. A user with a due of its whole demand keeps jobs
// on each type exactly as entitled, because they run all the time.
double Matching::spare(UserId user) const {
  const double due = accounts_.due().due(user);
  if (due <= 0) return 1;
  return std::clamp(static_cast<double>(accounts_.due().demand().of(user)) / due - 1, 0.0, 1.0);
}

// Returns the value of the user's jobs on the type with `more` GPUs of them there: the usable
// part of its entitlement, and a little for jobs beyond it, because jobs that take turns pack
// better.
double Matching::usable(UserId user, GpuTypeId type, std::int64_t more) const {
  constexpr double kSpareWorth = 0.25;
  const auto kept = static_cast<double>(accounts_.due().kept().gpus(user, type) + more);
  const double due = accounts_.due().traded(user, type);
  return std::min(kept, due) + kSpareWorth * std::clamp(kept - due, 0.0, spare(user) * due);
}

// --- To GPUs that no job wants ----------------------------------------------------------------

Move Matching::to_spare(const View& view, UserId user) {
  constexpr int kLooks = 8;  // jobs of one type
  for (GpuTypeId from : ids<GpuTypeId>(homes_.nodes().types())) {
    JobId job = homes_.first_kept(user, from);
    for (int looks = 0; looks < kLooks && !job.is_none(); ++looks, job = homes_.next_kept(job)) {
      const Home home = find_spare(view, job);
      if (!home.is_none()) return {job, home};
    }
  }
  return {};
}

// Returns a home on spare GPUs of another type, if the job gets more done there or its model was not
// tried there; else none.
Home Matching::find_spare(const View& view, JobId job) {
  constexpr double kWorthAMove = 1.1;
  const Homes::Residence& residence = homes_.of(job);
  if (!cool_down_.may_move(view, job)) return {};
  const std::uint32_t gpus = view.jobs.gpus[job];
  const double fraction =
      runs_always(job) ? 1
                       : accounts_.due().of_job(view.jobs.user[job], residence.type, gpus) / gpus;
  const double here = std::min(1.0, fraction) * speed_on(view, job, residence.type);
  for (GpuTypeId to : ids<GpuTypeId>(homes_.nodes().types())) {
    if (to == residence.type || (view.jobs.types[job] & type_bit(to)) == 0) continue;
    if (view.speed.is_tried(job, to) && speed_on(view, job, to) < kWorthAMove * here) continue;
    const Home home = choice_.find_spare(view, job, to);
    if (!home.is_none()) return home;
  }
  return {};
}

// Returns whether all jobs of its home fit there.
bool Matching::runs_always(JobId job) const {
  const auto has_room_for_all = [&](NodeId node) { return !homes_.nodes()[node].is_contended; };
  if (!homes_.of(job).is_spread()) return has_room_for_all(homes_.of(job).node);
  return std::ranges::all_of(homes_.spread(job).slices, has_room_for_all, &Slice::node);
}

}  // namespace fairlead
