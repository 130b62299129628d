// Room in the memory of the machine for the jobs that state how much they need.
//
// A job has its memory as long as it has processes, also while it is suspended. A job that does not fit beside the jobs
// with processes is held (StartConditions::set_has_room). Jobs that state nothing do not count. Source: ours.
#pragma once

#include "fairlead/base/ids.h"
#include "fairlead/local/start_conditions.h"

#include <cstdint>
#include <functional>
#include <map>

namespace fairlead {

class HostRoom {
 public:
  // `total_mb`: the memory of the machine in 10^6 bytes; 0: not known, and everything fits.
  explicit HostRoom(std::uint32_t total_mb) : total_mb_(total_mb) {}

  // Adds a job, until remove(). `memory_mb`: the memory that it needs; 0: not stated.
  void add(JobId job, std::uint32_t memory_mb);
  void remove(JobId job);
  // Notes that the job has processes, and that they have ended.
  void come(JobId job);
  void leave(JobId job);

  // Returns whether the job fits beside the other jobs with processes. O(1).
  bool fits(JobId job) const;
  // Notes in `conditions` which jobs have room. `is_bound`: has processes, or a start. O(jobs that state their memory).
  void update(const std::function<bool(JobId)>& is_bound, StartConditions& conditions) const;

 private:
  const std::uint32_t total_mb_;
  std::map<JobId, std::uint32_t> needs_mb_;  // the jobs that state their memory
  std::map<JobId, std::uint32_t> held_mb_;   // the ones with processes
  std::uint64_t all_held_mb_ = 0;
};

}  // namespace fairlead
