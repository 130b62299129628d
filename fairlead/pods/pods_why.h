// Why a gang waits, in plain words.
#pragma once

#include "fairlead/engine/tables.h"

#include <string>
#include <vector>

namespace fairlead {

// What is idle of each type of GPU.
class IdleGpus {
 public:
  // O(nodes).
  explicit IdleGpus(const Tables& tables);
  struct Room {
    std::uint32_t idle = 0;
    std::uint32_t tasks = 0;  // of `task_gpus`, that fit on nodes now
  };
  // On GPUs of those types. O(sizes of nodes x types).
  Room of(TypeMask types, std::uint32_t task_gpus) const;

 private:
  // By type, how many nodes have so many idle GPUs.
  std::vector<std::vector<std::uint32_t>> nodes_;
};

// What keeps a job that waits from its GPUs; a change of it is worth telling.
enum class WaitCause : std::uint8_t { kNoGpus, kTooFewGpus, kScattered, kTurn, kHeld };
WaitCause wait_cause(const Tables& tables, JobId job, const IdleGpus& idle);

// One sentence. REQUIRES: the job waits or is held.
std::string wait_sentence(const Tables& tables, JobId job, const IdleGpus& idle);

// All that is known of a job that is here, a line each. O(jobs here + nodes).
std::vector<std::string> why_lines(const Tables& tables, JobId job);

}  // namespace fairlead
