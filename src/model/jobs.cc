#include "fairlead/model/jobs.h"

namespace fairlead {

void Jobs::add(const JobSpec& spec, ModelId of_model) {
  FL_CHECK(!has(spec.job), "job {} is announced twice", spec.job.row());
  FL_CHECK(!spec.user.is_none() && spec.gpus >= 1, "job {} of no user, or without a GPU",
           spec.job.row());
  if (!user.has(spec.job)) {
    const std::size_t rows = spec.job.row() + std::size_t{1};
    user.resize(rows);
    model.resize(rows);
    gpus.resize(rows);
    gpus_min.resize(rows);
    gpus_max.resize(rows);
    arrival.resize(rows);
    types.resize(rows);
    attained_settled.resize(rows);
    held_since.resize(rows);
    held_gpus.resize(rows);
    state.resize(rows, JobState::kUnsubmitted);
    hold.resize(rows);
    works_from.resize(rows);
    last.resize(rows);
  }
  user[spec.job] = spec.user;
  model[spec.job] = of_model;
  gpus[spec.job] = spec.gpus;
  gpus_min[spec.job] = spec.gpus_min;
  gpus_max[spec.job] = spec.gpus_max;
  arrival[spec.job] = spec.submit;
  types[spec.job] = spec.types;
}

void Jobs::reserve(std::size_t jobs) {
  user.reserve(jobs);
  model.reserve(jobs);
  gpus.reserve(jobs);
  gpus_min.reserve(jobs);
  gpus_max.reserve(jobs);
  arrival.reserve(jobs);
  types.reserve(jobs);
  attained_settled.reserve(jobs);
  held_since.reserve(jobs);
  held_gpus.reserve(jobs);
  state.reserve(jobs);
  hold.reserve(jobs);
  works_from.reserve(jobs);
  last.reserve(jobs);
}

}  // namespace fairlead
