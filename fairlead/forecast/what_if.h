// The future of a daemon's queue, and of its users, under each of some policies.
#pragma once

#include "fairlead/forecast/forecast.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace fairlead {

// One policy on the queue. Times are seconds from now, means are over the jobs that end.
struct WhatIf {
  struct User {
    std::string user;
    std::int64_t jobs = 0;
    std::optional<double> end_mean_s{};
  };
  std::string policy;  // with its options, as requested
  bool runs_now = false;
  std::int64_t jobs = 0;
  std::int64_t ended = 0;  // ended jobs; the others can never run with these GPUs
  std::optional<double> end_mean_s{};
  std::optional<double> end_p90_s{};
  std::optional<double> end_last_s{};
  std::optional<double> wait_max_s{};  // longest time until a job has GPUs
  std::vector<User> users{};           // by name
};

// Errors: no such policy or option; the policy brings the jobs to a standstill. O(a simulation).
Result<WhatIf> what_if(const QueueNow& queue, const std::string& policy);

}  // namespace fairlead
