// The order of the jobs of a user, or of all users, in the course of time: start_order() on the tables, and a rest of jobs that took idle GPUs in
// vain (docs/decisions/0056-priorities-and-limits-are-holds.md).
#pragma once

#include "fairlead/engine/start_order.h"

#include <cstdint>
#include <map>
#include <vector>

namespace fairlead {

class UserOrder {
 public:
  // Finds the jobs that must not have GPUs now. `gpus_max` as in start_order(). O(jobs log), and IdleGpus::take() for each
  // job that may take idle GPUs.
  void update(Time now, std::vector<OrderedJob> jobs, std::uint32_t gpus_max, const Tables& tables);
  const std::map<JobId, StartBlock>& blocked() const { return blocked_; }
  // Returns the time at which the rest ends, so that update() is due; Time::never(): jobs do not rest, or none is blocked.
  Time due() const;

 private:
  void note_left(Time now, const std::map<JobId, StartBlock>& blocked, const Tables& tables);

  std::map<JobId, StartBlock> blocked_;
  // The last time at which a job left its GPUs for one of a higher priority, and the end of the rest after it.
  Time left_at_ = Time::never();
  Time rests_until_{};
};

}  // namespace fairlead
