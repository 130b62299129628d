// Explains in plain words why a gang waits.
#pragma once

#include "fairlead/engine/tables.h"

#include <string>
#include <vector>

namespace fairlead {

// The idle GPUs of each type.
class IdleGpus {
 public:
  // O(nodes).
  explicit IdleGpus(const Tables& tables);
  struct Room {
    std::uint32_t idle = 0;
    std::uint32_t tasks = 0;  // number of tasks with `task_gpus` that fit on nodes now
  };
  // Returns the room on GPUs of those types. O(sizes of nodes x types).
  Room of(TypeMask types, std::uint32_t task_gpus) const;

 private:
  // The number of nodes, by type and number of idle GPUs.
  std::vector<std::vector<std::uint32_t>> nodes_;
};

// The reason why a job waits for GPUs; users are notified when it changes.
enum class WaitCause : std::uint8_t { kNoGpus, kTooFewGpus, kScattered, kTurn, kHeld };
WaitCause wait_cause(const Tables& tables, JobId job, const IdleGpus& idle);

// Returns one sentence. REQUIRES: the job waits or is held.
std::string wait_sentence(const Tables& tables, JobId job, const IdleGpus& idle);

// Returns everything known about a present job, a line each. O(present jobs + nodes).
std::vector<std::string> why_lines(const Tables& tables, JobId job);

}  // namespace fairlead
