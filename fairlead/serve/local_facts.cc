#include "fairlead/serve/local_facts.h"

#include <fmt/format.h>

#include <utility>

namespace fairlead {

std::string LocalFacts::name_of(JobId job) const {
  return fmt::format("job {} of {}", job.row(), tables_.users.names[tables_.jobs.user[job]]);
}

BackendFacts::JobFacts LocalFacts::of(JobId job, Time now) const {
  JobFacts facts{.idle = backend_.idle(job, now)};
  if (const Submission* what = backend_.submission(job)) {
    facts.limit = what->limit;
    facts.lost = what->lost;
    facts.retries = {.used = what->failed.size(), .most = what->retries};
  }
  const Sensors* const sensors = backend_.sensors(job);
  if (sensors == nullptr) return facts;
  if (const auto done = sensors->done()) {
    facts.progress = {
        .done = done->progress.done, .total = done->progress.total, .unit_per_s = done->unit_per_s};
  }
  if (auto speed = sensors->speed()) {
    facts.speed = {.unit_per_s = speed->unit_per_s,
                   .unit = std::move(speed->unit),
                   .sensor = sensor_name(speed->sensor),
                   .sensor_text = sensor_text(speed->sensor)};
  }
  return facts;
}

std::string LocalFacts::release_hint(JobId job) const {
  return fmt::format("`fairlead release {}` lets it go on.", job.row());
}

}  // namespace fairlead
