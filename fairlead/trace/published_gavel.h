// The exact jobs behind Gavel's published curves (Narayanan et al., OSDI 2020): the workload of gavel_workload.h, drawn
// with the random numbers of the authors' simulator, a Python program, for its seed. It draws jobs from one generator
// (seed + 2) and arrivals from another (seed + 3), and has its own order of models. The published curves use seed 0.
#pragma once

#include "fairlead/trace/job_stream.h"

#include <cstdint>

namespace fairlead {

struct PublishedGavel {
  JobStream stream;  // its seed: the simulator's, of 32 bits
  // One job of five has high priority: it belongs to the user "high", with the weight kHighPriority for each job. The
  // additional draw for each job changes the jobs.
  bool priorities = false;
};
inline constexpr std::int64_t kHighPriority = 5;

// The same jobs wherever the C library rounds pow and log alike. Errors: an option out of its range.
Result<Workload> generate_published_gavel(const PublishedGavel& published);

}  // namespace fairlead
