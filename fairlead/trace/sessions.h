// A synthetic workload of users with bursts of activity: hyper-parameter searches.
//
// Sessions start in a Poisson process. In each, one user submits many jobs of one model within minutes and then waits
// for them. So at every moment some users are active and others are not, and fair shares must follow. Sessions are
// drawn until together they reach the offered load; then all durations are scaled down to match it exactly.
//
// Equal options give an equal workload on every compiler. O(jobs log jobs) time.
#pragma once

#include "fairlead/base/result.h"
#include "fairlead/model/workload.h"
#include "fairlead/trace/generate.h"

#include <cstdint>
#include <vector>

namespace fairlead {

struct SessionOptions {
  std::uint64_t seed = 1;
  std::int64_t capacity_gpus = 64;
  double span_h = 24;  // in which sessions start
  double load = 1.2;   // GPU time asked for per GPU time of the capacity over span_h

  // The number of users, of whom each session has one at random; 0: each session has a new user. The users are user-1,
  // user-2, ... in the order in which sessions are drawn, with the tickets in turn. A user has one model.
  std::int64_t users = 0;
  std::vector<std::int64_t> tickets = {1};

  // A session has jobs_min to jobs_max jobs, equally likely, submitted within `burst` of its
  // beginning.
  std::int64_t jobs_min = 4;
  std::int64_t jobs_max = 24;
  Duration burst = seconds(300);
  // The logarithm of a job's duration is uniform between these.
  Duration duration_min = seconds(900);
  Duration duration_max = hours(4);

  // As in GenerateOptions.
  std::vector<GangShare> gangs = GenerateOptions().gangs;
  std::vector<ModelShare> models = GenerateOptions().models;
};

// Errors: an option out of its range, or more than a million jobs.
Result<Workload> generate_sessions(const SessionOptions& options);

}  // namespace fairlead
