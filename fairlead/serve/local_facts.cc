#include "fairlead/serve/local_facts.h"

#include <fmt/format.h>

namespace fairlead {

std::string LocalFacts::name_of(JobId job) const {
  return fmt::format("job {} of {}", job.row(), tables_.users.names[tables_.jobs.user[job]]);
}

BackendFacts::JobFacts LocalFacts::of(JobId job, Time now) const {
  JobFacts facts{.idle = backend_.idle(job, now)};
  if (const Submission* what = backend_.submission(job)) {
    facts.limit = what->limit;
    facts.retries = {.used = what->failed.size(), .most = what->retries};
  }
  if (const auto told = backend_.told(job)) {
    facts.progress = {
        .done = told->progress.done, .total = told->progress.total, .unit_per_s = told->unit_per_s};
  }
  return facts;
}

std::string LocalFacts::release_hint(JobId job) const {
  return fmt::format("`fairlead release {}` lets it go on.", job.row());
}

}  // namespace fairlead
