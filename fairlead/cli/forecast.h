// When a job of a daemon starts and ends, if nothing else comes: a simulation, by the daemon's own
// policy, of the jobs that are here.
//
// It begins the policy anew, as what its daemon remembers (shares that are owed, say) is not told;
// jobs that hold GPUs come first. It does not know on which types of GPU jobs may run.
#pragma once

#include "fairlead/base/result.h"
#include "fairlead/client/answers.h"
#include "fairlead/model/cluster.h"
#include "fairlead/run/simulation.h"
#include "fairlead/run/trace.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace fairlead {

// What a job still takes with the GPUs it asks for, and how that is known: "it says so".
struct TimeLeft {
  std::int64_t job = 0;
  double s = 0;
  std::string source;
};

// The first of these that there is: its progress; what was declared less what was served; the median
// of what jobs of its model, else of its user, else of all took or declared, less what was served;
// as long again as it was served; an hour. But no more than its time limit leaves. `jobs`: all that are known, done ones too.
TimeLeft time_left(const JobAnswer& job, const std::vector<JobAnswer>& jobs);

// What "This guesses that" is followed by: a line for each.
std::string guesses_text(const std::vector<TimeLeft>& guesses);

// The queue that a daemon has now, as a simulation takes it: all jobs arrive at once.
struct QueueNow {
  Cluster cluster;              // of the GPUs that can be used
  Trace trace;                  // its jobs are those of `jobs`
  std::vector<JobAnswer> jobs;  // that want GPUs: those that hold some first, then by id
  std::vector<TimeLeft> left;   // of each of `jobs`
  std::string policy;           // of the daemon, with its options
};
// `jobs`: all that are known, done ones too. Error: there is no GPU that could be used.
Result<QueueNow> queue_now(const ClusterAnswer& cluster, const std::vector<JobAnswer>& jobs,
                           const std::vector<UserAnswer>& users);
// Errors: no such policy or option.
Result<SimulationInputs> inputs_of(const QueueNow& queue, const std::string& policy);

struct Forecast {
  std::optional<double> start_s{};  // from now; none: it does not start. 0: it holds GPUs
  std::optional<double> end_s{};
  std::vector<TimeLeft> guesses{};  // of the jobs that were simulated, this one last
};

// `jobs`: all, done ones too. Errors: the daemon has a policy that this program does not have, or
// one that cannot go on with these jobs. REQUIRES: the job is one of them, not done and not held.
// O(what a simulation takes).
Result<Forecast> forecast(const ClusterAnswer& cluster, const std::vector<JobAnswer>& jobs,
                          const std::vector<UserAnswer>& users, std::int64_t job);
std::string forecast_json(const Forecast& forecast, std::int64_t job);
// The clock is that of the time zone in TZ.
std::string forecast_text(const Forecast& forecast, std::int64_t job, std::int64_t now_unix_ms);

}  // namespace fairlead
