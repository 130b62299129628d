// A synthetic workload from a seed: Poisson arrivals with a daily cycle, gangs and heavy-tailed
// durations as in Microsoft's Philly cluster, users of unequal activity.
//
// Durations follow the quantiles of the 82,247 Philly jobs (2017-09-04 to 12-22) that Pollux and
// Sia evaluate on (Jeon et al., ATC 2019, CC-BY-4.0): p50 1,144 s, p90 11,266 s, p99 254,884 s,
// mean 13,136 s; between the points, the logarithm of the duration is linear in the quantile. They
// do not depend on the gang's size, though in Philly larger gangs run longer. Gang sizes are the
// mix of the cluster's multi-GPU work rather than of that subset, of which 93 % are single-GPU
// jobs.
//
// Equal options give an equal workload on every compiler. O(jobs) time.
#pragma once

#include "fairlead/base/result.h"
#include "fairlead/model/workload.h"

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

namespace fairlead {

struct GangShare {
  std::int64_t gpus = 1;
  double weight = 1;
};

struct ModelShare {
  std::string name;
  double weight = 1;
};

struct UserShare {
  std::string name;
  std::int64_t tickets = 1;
  double weight = 1;  // relative frequency of the user's jobs
};

// Returns user-1, user-2, ...: the n-th submits in proportion to 1/n and gets the n-th of `tickets`, which repeat.
// REQUIRES: tickets is not empty.
std::vector<UserShare> unequal_users(std::int64_t count, const std::vector<std::int64_t>& tickets);

struct GenerateOptions {
  std::int64_t jobs = 1000;
  std::uint64_t seed = 1;

  // The duration of the arrivals follows from these: GPU time asked for = load x capacity x duration. If jobs_per_hour
  // is not 0, that many arrive per hour on average.
  std::int64_t capacity_gpus = 64;
  double load = 0.9;
  double jobs_per_hour = 0;

  // Amplitude of the daily cycle of the arrival rate: a fraction of its mean, 0..1; highest at 14:00; the trace starts
  // at midnight.
  double daily_swing = 0.5;
  // Multiplies every duration.
  double duration_scale = 1;

  std::vector<GangShare> gangs = {{1, 70}, {2, 10}, {4, 15}, {8, 5}};
  // Gandiva_fair's models (Chaudhary et al., EuroSys 2020), equally often.
  std::vector<ModelShare> models = {{"VAE"},  {"SuperResolution"}, {"DCGAN"},    {"GRU"},
                                    {"LSTM"}, {"ResNet50"},        {"ResNeXt50"}};
  std::vector<UserShare> users = unequal_users(10, {1});
};

// True if such shares can be drawn from: no weight is negative or infinite, and their sum is above
// 0.
template <class Share>
bool weights_fit(const std::vector<Share>& shares) {
  double sum = 0;
  for (const Share& share : shares) {
    if (!(share.weight >= 0) || !std::isfinite(share.weight)) return false;
    sum += share.weight;
  }
  return sum > 0 && std::isfinite(sum);
}

// Errors: an option out of its range, or arrivals that would take more than 100 years.
Result<Workload> generate(const GenerateOptions& options);

}  // namespace fairlead
