// The order in which the jobs of a user may start: by their priorities, and within the user's limit of GPUs. The
// priorities may also order the jobs of all users.
//
// No policy needs to know of this order: jobs that may not have GPUs now are
// held (docs/decisions/0056-priorities-and-limits-are-holds.md).
#pragma once

#include "fairlead/base/ids.h"
#include "fairlead/engine/tables.h"

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace fairlead {

// A job that its user does not hold and that has no condition left.
struct OrderedJob {
  JobId job;
  std::int64_t priority = 0;  // the higher, the sooner
  std::uint32_t gpus = 1;     // that it may have at once
  enum class State : std::uint8_t {
    kHeld,     // it was held so far, or is new
    kWaits,    // for GPUs, after a decision of the policy
    kRuns,     // it has GPUs
    kRetries,  // its start failed and will be tried again
  };
  State state = State::kHeld;
  bool can_run = true;   // enough GPUs of its types are in service
  bool preempts = true;  // while it waits, running jobs of a lower priority leave their GPUs
};

// Why a job is held.
struct StartBlock {
  enum class Cause : std::uint8_t {
    kPriority,  // the job `by` has a higher priority
    kLimit,     // other jobs have the GPUs of the limit
    kTooLarge,  // it may have more GPUs than the limit
  };
  Cause cause = Cause::kLimit;
  JobId by{};
  std::string group{};         // that has the limit; empty: the user
  std::uint32_t gpus_max = 0;  // the limit
};

// Takes the GPUs of a job out of the idle ones. False: too few are idle, and nothing was taken.
using TakeIdle = std::function<bool(JobId)>;

// Returns whether the job is held until its release; not: a failed start is tried again.
bool is_held_open(const Tables& tables, JobId job);
// Returns the state of a job of the tables, or of a new one.
OrderedJob::State state_in_order(const Tables& tables, JobId job);

// Sorts jobs of one user: those of a higher priority come first, then the released ones, then the older ones.
void sort_by_start(std::vector<OrderedJob>& jobs);

// Returns the jobs that must not have GPUs now. `gpus_max`: of the user's jobs together; 0: any number.
//
// A job counts against the limit from its release to its end. None passes a job that the limit holds back, so a wide gang gets its turn.
//
// While a job waits, none of a lower priority may have GPUs; but one that runs keeps them until the policy has decided once
// without giving the higher one any, and for ever if that one does not preempt. While a job runs, jobs of a lower priority
// may take idle GPUs alone: a policy that has to choose among jobs of one user knows no priorities. A job that cannot run now does not count.
// O(jobs log).
std::map<JobId, StartBlock> start_order(std::vector<OrderedJob> jobs, std::uint32_t gpus_max,
                                        const TakeIdle& take_idle);

}  // namespace fairlead
