#include "fairlead/forecast/what_if.h"

#include "fairlead/run/simulation.h"

#include <algorithm>
#include <map>

namespace fairlead {
namespace {

std::vector<WhatIf::User> users_of(const std::vector<JobResult>& jobs) {
  struct Sum {
    std::int64_t jobs = 0;
    std::int64_t ended = 0;
    double end_s = 0;
  };
  std::map<std::string, Sum> sums;
  for (const JobResult& job : jobs) {
    Sum& sum = sums[job.user];
    ++sum.jobs;
    if (!job.finish) continue;
    ++sum.ended;
    sum.end_s += to_seconds(*job.finish);
  }
  std::vector<WhatIf::User> users;
  users.reserve(sums.size());
  for (const auto& [user, sum] : sums) {
    users.push_back({.user = user, .jobs = sum.jobs});
    if (sum.ended > 0) users.back().end_mean_s = sum.end_s / static_cast<double>(sum.ended);
  }
  return users;
}

}  // namespace

Result<WhatIf> what_if(const QueueNow& queue, const std::string& policy) {
  FL_TRY_ASSIGN(inputs, inputs_of(queue, policy));
  FL_TRY_ASSIGN(simulation, Simulation::make(std::move(inputs)));
  if (const Status ran = simulation.run(); !ran) {
    return run_error("{}: {}", policy, ran.error().message);
  }
  const RunResult result = simulation.result();
  WhatIf outcome{.policy = policy,
                 .runs_now = policy == queue.policy,
                 .jobs = std::ssize(result.jobs),
                 .ended = result.summary.finished,
                 .end_mean_s = result.summary.jct_avg_s,
                 .end_p90_s = result.summary.jct_p90_s,
                 .end_last_s = result.summary.makespan_s,
                 .users = users_of(result.jobs)};
  for (const JobResult& job : result.jobs) {
    if (!job.start) continue;
    outcome.wait_max_s = std::max(outcome.wait_max_s.value_or(0), to_seconds(*job.start));
  }
  return outcome;
}

}  // namespace fairlead
