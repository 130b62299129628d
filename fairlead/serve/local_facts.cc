#include "fairlead/serve/local_facts.h"

#include <fmt/format.h>

#include <utility>

namespace fairlead {

std::string LocalFacts::name_of(JobId job) const {
  return fmt::format("job {} of {}", job.row(), tables_.users.names[tables_.jobs.user[job]]);
}

BackendFacts::JobFacts LocalFacts::of(JobId job, Time now) const {
  JobFacts facts{.idle = backend_.monitor().idle(job, now)};
  if (const Submission* what = backend_.jobs().submission(job)) {
    facts.limit = what->limit;
    facts.lost = what->lost;
    facts.after = conditions_.text(job);
    facts.gpu_memory_mb = what->gpu_memory_mb;
    facts.memory_mb = what->memory_mb;
    facts.cpu_milli = what->cpu_milli;
    facts.priority = priority_name(what->priority);
    facts.notify = notify_name(what->notify);
    facts.retries = {.runs = what->failed, .most = what->retries};
  }
  const LocalTask* const task = backend_.jobs().task_of(job);
  if (task == nullptr) return facts;
  const Sensors& sensors = task->sensors;
  if (const auto done = sensors.done()) {
    facts.progress = {
        .done = done->progress.done, .total = done->progress.total, .unit_per_s = done->unit_per_s};
  }
  if (const auto busy_percent = sensors.driver_load().busy_percent.value()) {
    facts.load = {.busy_percent = *busy_percent, .power_w = sensors.driver_load().power_w.value()};
  }
  if (auto speed = sensors.speed()) {
    facts.speed = {.unit_per_s = speed->unit_per_s,
                   .unit = std::move(speed->unit),
                   .sensor = sensor_name(speed->sensor),
                   .sensor_text = sensor_text(speed->sensor)};
  }
  return facts;
}

std::vector<BackendFacts::Outage> LocalFacts::outages(Time now) const {
  std::vector<Outage> all;
  for (auto& [gpu, outage] : backend_.gpus().outages(now)) {
    const bool is_closed = outage.cause == "administrator" || outage.cause == "failures";
    all.push_back({.gpu = gpu,
                   .cause = outage.cause,
                   .reason = std::move(outage.reason),
                   .state = is_closed ? "closed" : "down"});
  }
  return all;
}

std::uint32_t LocalFacts::gpus_max(std::string_view user) const {
  return conditions_.limits().gpus_max(user);
}

std::vector<BackendFacts::Group> LocalFacts::groups() const {
  std::vector<Group> all;
  for (StartConditions::Group& group : conditions_.groups()) {
    all.push_back({.name = std::move(group.limit.name),
                   .gpus_max = group.limit.gpus_max,
                   .users = std::move(group.users)});
  }
  return all;
}

std::vector<BackendFacts::Reservation> LocalFacts::reservations(Time now) const {
  const Reservations& book = backend_.reservations();
  const auto state_text = [&](const fairlead::Reservation& one) -> std::string_view {
    const Reservations::State state = book.state(one, now);
    if (state == Reservations::State::kPlanned) return "planned";
    return state == Reservations::State::kLent ? "lent" : "in force";
  };
  std::vector<Reservation> all;
  for (const fairlead::Reservation& one : book.all()) {
    all.push_back({.id = one.id,
                   .holder = one.holder,
                   .is_group = one.is_group,
                   .gpus = one.total(),
                   .type = tables_.cluster.type_names[one.type],
                   .from_unix_ms = one.from_ms,
                   .to_unix_ms = one.to_ms,
                   .state = state_text(one)});
  }
  return all;
}

bool LocalFacts::is_ending(JobId job) const {
  return !tables_.jobs.is_here(job) && backend_.jobs().submission(job) != nullptr;
}

std::string LocalFacts::release_hint(JobId job) const {
  const Submission* const what = backend_.jobs().submission(job);
  if (what != nullptr && !what->is_held) return {};
  return fmt::format("`fairlead release {}` lets it go on.", job.row());
}

}  // namespace fairlead
