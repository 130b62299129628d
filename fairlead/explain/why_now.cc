#include "fairlead/explain/why_now.h"

#include <tuple>

namespace fairlead {

WhyNow::WhyNow(const Tables& tables, const PresentWaits& waits, const PlacementTraits* traits,
               Time now)
    : waits_(waits), moment_(tables, traits == nullptr ? PlacementTraits{} : *traits, now) {}

Time WhyNow::since(JobId job) const {
  const Jobs& jobs = moment_.tables().jobs;
  if (jobs.state[job] == JobState::kRunning) return jobs.run_since[job];
  const PresentWaits::Job* present = waits_.find(job);
  return present != nullptr && present->since ? *present->since : jobs.arrival[job];
}

WhyNow::Answer WhyNow::cause(JobId job) {
  const PresentWaits::Job* present = waits_.find(job);
  const WaitingJob waiting = {
      .job = job, .since = since(job), .timer = present == nullptr ? Time{} : present->timer};
  const UserNotes& notes = waits_.of(moment_.tables().jobs.user[job]);
  if (const auto found = verdict(moment_, notes, waiting)) return {.cause = *found};
  if (moment_.traits().round.ms > 0) return {.cause = WhyCause::kRound};
  const JobId kept_for = first_without_room();
  const Jobs& jobs = moment_.tables().jobs;
  const bool is_kept = !kept_for.is_none() && moment_.came_later(job, kept_for) &&
                       (jobs.types[job] & jobs.types[kept_for]) != 0;
  if (is_kept) return {.cause = WhyCause::kKept, .other = kept_for};
  const JobId later = later_placed(job);
  if (!later.is_none()) return {.cause = WhyCause::kPassed, .other = later};
  return {};
}

// Returns the first waiting job that does not fit.
JobId WhyNow::first_without_room() {
  if (first_without_room_) return *first_without_room_;
  const Tables& tables = moment_.tables();
  JobId first;
  for (JobId job : tables.waiting.members()) {
    const Fit fit = moment_.fit(job, since(job));
    if (fit == Fit::kFits || fit == Fit::kNever) continue;
    const auto rank = [&](JobId of) { return std::tuple(tables.jobs.arrival[of], of); };
    if (first.is_none() || rank(job) < rank(first)) first = job;
  }
  first_without_room_ = first;
  return first;
}

// Returns the first running job that came later and got its GPUs while this job waited.
JobId WhyNow::later_placed(JobId job) const {
  const Tables& tables = moment_.tables();
  JobId first;
  for (JobId other : tables.running.members()) {
    const bool is_later =
        moment_.came_later(other, job) && tables.jobs.run_since[other] >= since(job);
    if (is_later && (first.is_none() || other < first)) first = other;
  }
  return first;
}

}  // namespace fairlead
