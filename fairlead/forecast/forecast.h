// The start and end of a job if no other job comes: a simulation of the present queue with its policy.
//
// The policy starts from scratch, because the state that its daemon remembers (for example shares that are owed) is not
// available; running jobs come first.
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

struct SecondsRange {
  double least_s = 0;
  double most_s = 0;
};

// The remaining time of a job with the GPUs that it asks for, and its source in words.
struct TimeLeft {
  std::int64_t job = 0;
  double s = 0;
  std::string source;
  // The same by the shortest and by the longest tenth of similar jobs; none: similar jobs are not the source, or do not differ.
  std::optional<SecondsRange> range{};
};

// Returns the first available of these: the time from its progress; the declared time less the served time; the
// median of the actual or declared times of jobs of its model, of its user, or of all, less the served time; as long
// again as it was served; an hour. A time limit caps the result. `jobs`: all known jobs, also finished ones.
TimeLeft time_left(const JobAnswer& job, const std::vector<JobAnswer>& jobs);

// A queue as input of a simulation: all jobs arrive at once.
struct QueueNow {
  Cluster cluster;              // with the usable GPUs only
  Trace trace;                  // has the same jobs as `jobs`
  std::vector<JobAnswer> jobs;  // jobs that want GPUs: running ones first, then by id
  std::vector<TimeLeft> left;   // time left of each of `jobs`
  std::string policy;           // the present policy, with its options; empty: not known
  std::optional<std::vector<LimitRule>> limits{};  // rules of the site; none: not known
};
// Returns the queue of a daemon, without the GPU types on which its jobs may run. `jobs`: all that are known, also
// finished ones. Error: no GPU can be used.
Result<QueueNow> queue_now(const ClusterAnswer& cluster, const std::vector<JobAnswer>& jobs,
                           const std::vector<UserAnswer>& users);
// Returns the policy of a daemon or scheduler, with its options.
std::string policy_of(const ClusterAnswer& cluster);
// Errors: no such policy or option.
Result<SimulationInputs> inputs_of(const QueueNow& queue, const std::string& policy);

struct Forecast {
  bool runs = false;                // it has GPUs
  std::optional<double> start_s{};  // from now; none: it does not start. 0: it runs, or starts now
  std::optional<double> end_s{};
  std::vector<TimeLeft> guesses{};  // for the simulated jobs, this one last
  // The start and the end if all jobs take as long as `s`, the least or the most of their ranges; none: no job has a range, or
  // the job does not end in one of these cases.
  std::optional<SecondsRange> start_range{};
  std::optional<SecondsRange> end_range{};
};

// Errors: this program lacks the policy of the queue, or the policy cannot continue with these jobs. REQUIRES: the job is
// in the queue. O(three simulations).
Result<Forecast> forecast(const QueueNow& queue, std::int64_t job);

}  // namespace fairlead
