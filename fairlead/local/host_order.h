// The order in which jobs without GPUs start: as far as they fit into the processors and the memory of the machine.
//
// Urgent jobs come first. The user with the fewest processors in use by jobs without GPUs is next, with the job of the highest
// priority that came first. The first job that does not fit stops the others, so a wide job gets its turn;
// except if jobs with GPUs alone are in its way, which may take days: then it stops only its user's other jobs.
//
// Source: ours (docs/decisions/0077-jobs-without-gpus.md).
#pragma once

#include "fairlead/base/ids.h"
#include "fairlead/local/submission.h"

#include <cstdint>
#include <map>
#include <vector>

namespace fairlead {

struct HostAmounts {
  std::int64_t cpu_milli = 0;
  std::int64_t memory_mb = 0;  // 10^6 bytes
};

// A job without GPUs that runs, or that nothing but room keeps from its start.
struct HostJob {
  JobId job;
  UserId user{};
  Priority priority = Priority::kNormal;
  HostAmounts needs{};  // beside the memory that its suspended processes have
  bool runs = false;
};

// Why a job does not start.
struct HostBlock {
  bool is_memory = false;  // the machine has too little memory left; else processors
  JobId by{};              // the job that comes first and does not fit; none: the job itself
  friend bool operator==(const HostBlock&, const HostBlock&) = default;
};

// Returns the jobs that must not start now. `free`: left by all jobs that run. `without`: left if all running jobs without
// GPUs had ended. O(jobs log jobs).
std::map<JobId, HostBlock> host_order(std::vector<HostJob> jobs, HostAmounts free,
                                      const HostAmounts& without);

}  // namespace fairlead
