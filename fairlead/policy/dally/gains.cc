#include "fairlead/policy/dally/gains.h"

#include "fairlead/model/known_work.h"

#include <algorithm>

namespace fairlead {

double DallyGains::of_rate(const View& view, JobId job, double slow, double fast) {
  if (!(slow > 0) || !(fast > 0)) return 0;
  return view.jobs.gpus[job] * to_seconds(view.work.remaining(job)) * (1 / slow - 1 / fast);
}

double DallyGains::restart(const View& view, JobId job) const {
  return view.jobs.gpus[job] *
         to_seconds(options_.switch_cost + view.jobs.lost_by_move(job, view.now));
}

double DallyGains::saved(const View& view, const DallySeeker& seeker,
                         const DallyPace& there) const {
  if (!options_.moves_for_speed()) return 0;
  const JobId job = seeker.key.job;
  double saved = of_rate(view, job, seeker.otherwise.rate, there.rate);
  const double left_s = to_seconds(view.work.remaining(job));
  if (seeker.otherwise.rate > 0) {
    saved += left_s / seeker.otherwise.rate * seeker.otherwise.loss_of_others;
  }
  if (there.rate > 0) saved -= left_s / there.rate * there.loss_of_others;
  return seeker.is_running ? saved - restart(view, job) : saved;
}

double DallyGains::most_saved(const View& view, const DallySeeker& seeker,
                              const DallyPlace& place) const {
  const JobTiers& tiers = tiers_.of(view, seeker.key.job);
  return saved(view, seeker, {.rate = tiers.rate(place.type, place.tier)});
}

double DallyGains::value_of_turn(const View& view, const DallySeeker& seeker) const {
  if (seeker.is_running || order_.is_last_class(seeker.key.major)) return 0;
  const JobId job = seeker.key.job;
  const double in_class_s = order_.left_in_class(view, job, seeker.key.major);
  const double to_end_s = view.jobs.gpus[job] * to_seconds(view.work.remaining(job));
  return std::min(in_class_s, to_end_s / seeker.best);
}

}  // namespace fairlead
