// Jobs drawn one by one: the common base of the synthetic workloads with given kinds of jobs.
//
// Equal options give an equal workload on every compiler. O(jobs) time.
#pragma once

#include "fairlead/base/result.h"
#include "fairlead/base/rng.h"
#include "fairlead/model/workload.h"
#include "fairlead/trace/generate.h"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace fairlead {

// The number of jobs, the sizes of their gangs, and the times of submission.
struct JobStream {
  std::uint64_t seed = 1;
  std::int64_t jobs = 1000;
  // Poisson arrivals, the first at time 0; 0: all at time 0. Neither gangs nor shapes depend on it.
  double jobs_per_hour = 0;
  std::vector<GangShare> gangs = GenerateOptions().gangs;
};

// Errors: an option out of its range.
Status check_stream(const JobStream& stream);

struct JobShape {
  std::string_view kind = "job";  // prefix of its id, as in "job-1"
  std::string_view model{};
  std::string user{};
  Duration duration;  // duration with the gang asked for
};
using ShapeDraw = std::function<JobShape(std::int64_t gpus, Rng& rng)>;

// Returns the jobs of `stream`, each with the shape from `draw`. `gpu_type`: the type of the durations; empty: the
// run's reference type. Errors: an option out of its range.
Result<Workload> draw_jobs(const JobStream& stream, std::string_view gpu_type,
                           const ShapeDraw& draw);

}  // namespace fairlead
