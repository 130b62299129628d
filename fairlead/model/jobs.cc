#include "fairlead/model/jobs.h"

#include "fairlead/base/check.h"
#include "fairlead/model/job_spec.h"

namespace fairlead {

std::string_view state_name(JobState state) {
  constexpr std::string_view kNames[] = {"unsubmitted", "waiting", "running",   "held",
                                         "finished",    "failed",  "cancelled", "rejected"};
  return kNames[static_cast<std::size_t>(state)];
}

JobSpec Jobs::asked(JobId job) const {
  return {.job = job,
          .user = user[job],
          .gpus = gpus[job],
          .gpus_min = gpus_min[job],
          .gpus_max = gpus_max[job],
          .task_gpus = task_gpus[job],
          .closeness = closeness[job],
          .extras = extras_of(job),
          .types = types[job],
          .submit = arrival[job],
          .logged = logged_of(job),
          .partition = partition_name(job)};
}

void Jobs::set_asked(const JobSpec& spec, Named named) {
  FL_CHECK(!has(spec.job), "job {} is announced twice", spec.job.row());
  FL_CHECK(!spec.user.is_none(), "job {} of no user", spec.job.row());
  FL_CHECK(spec.gpus >= 1 || (spec.gpus_min == 0 && spec.gpus_max == 0),
           "job {} of no GPU, and of up to {}", spec.job.row(), spec.gpus_max);
  FL_CHECK(spec.task_gpus >= 1 && spec.gpus % spec.task_gpus == 0,
           "job {} of {} GPUs in tasks of {}", spec.job.row(), spec.gpus, spec.task_gpus);
  while (!user.has(spec.job)) {
    user.push_back({});
    model.push_back({});
    gpus.push_back(0);
    gpus_min.push_back(0);
    gpus_max.push_back(0);
    task_gpus.push_back(1);
    closeness.push_back({});
    arrival.push_back({});
    types.push_back(0);
  }
  user[spec.job] = spec.user;
  model[spec.job] = named.model;
  gpus[spec.job] = spec.gpus;
  gpus_min[spec.job] = spec.gpus_min;
  gpus_max[spec.job] = spec.gpus_max;
  task_gpus[spec.job] = spec.task_gpus;
  closeness[spec.job] = spec.closeness;
  arrival[spec.job] = spec.submit;
  types[spec.job] = spec.types;
  if (spec.extras != JobExtras()) extras.grow_to(spec.job) = spec.extras;
  if (spec.extras.pinned != kMayMove) cannot_move.grow_to(spec.job) = 1;
  if (spec.logged != Logged()) logged.grow_to(spec.job) = spec.logged;
  if (!named.partition.is_none()) partition.grow_to(spec.job) = named.partition;
}

void Jobs::add(const JobSpec& spec, Named named) {
  set_asked(spec, named);
  while (!state.has(spec.job)) {
    attained_settled.push_back({});
    run_since.push_back({});
    allocated_gpus.push_back(0);
    state.push_back(JobState::kUnsubmitted);
    run.push_back(0);
    works_from.push_back({});
    last.push_back({});
  }
}

void Jobs::reserve(std::size_t jobs) {
  user.reserve(jobs);
  model.reserve(jobs);
  gpus.reserve(jobs);
  gpus_min.reserve(jobs);
  gpus_max.reserve(jobs);
  task_gpus.reserve(jobs);
  closeness.reserve(jobs);
  arrival.reserve(jobs);
  types.reserve(jobs);
  attained_settled.reserve(jobs);
  run_since.reserve(jobs);
  allocated_gpus.reserve(jobs);
  state.reserve(jobs);
  run.reserve(jobs);
  works_from.reserve(jobs);
  last.reserve(jobs);
}

}  // namespace fairlead
