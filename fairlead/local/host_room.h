// Room on the machine: its memory for the jobs that state how much they need, and its processors for jobs without GPUs.
//
// A job has its memory as long as it has processes, also while it is suspended. A job that does not fit beside the jobs
// with processes is held (StartConditions::set_has_room). Jobs that state nothing do not count.
//
// A job without GPUs is held as long as it does not fit in its turn (local/host_order.h). It has its processors while it
// runs. Jobs with GPUs never wait for processors, but their statements count. While a job with GPUs waits for memory
// that jobs without GPUs have or could take, none of these takes any. Source: ours.
#pragma once

#include "fairlead/engine/tables.h"
#include "fairlead/local/host_order.h"
#include "fairlead/local/machine.h"
#include "fairlead/local/start_conditions.h"

#include <cstdint>
#include <functional>
#include <map>

namespace fairlead {

class HostRoom {
 public:
  // REQUIRES: `tables` outlives this. Everything fits into a size that is not known.
  HostRoom(const Tables& tables, HostSize size) : tables_(tables), size_(size) {}

  struct Need {
    std::uint32_t memory_mb = 0;  // 10^6 bytes; 0: not stated
    std::uint32_t cpu_milli = 0;  // thousandths; 0: not stated
    bool has_gpus = true;
    UserId user{};
    Priority priority = Priority::kNormal;
  };
  // Adds a job, until remove().
  void add(JobId job, const Need& need);
  void remove(JobId job);
  void set_priority(JobId job, Priority priority);
  // Notes that the job has processes, and that they have ended.
  void come(JobId job);
  void leave(JobId job);
  // Notes that the tables have changed.
  void on_change() { is_due_ = true; }
  // Returns the time of the next update() that may have something to do without a change before.
  Time deadline() const { return is_due_ && without_gpus_ > 0 ? Time{} : Time::never(); }

  // Returns whether the job fits into the memory beside the other jobs with processes. O(1).
  bool fits(JobId job) const;
  using IsBound = std::function<bool(JobId)>;
  // Notes in `conditions` which jobs have room. `is_bound`: has processes, or a start. O(jobs that state their memory), and
  // host_order() after a change, if there are jobs without GPUs.
  void update(const IsBound& is_bound, StartConditions& conditions);

 private:
  HostAmounts size() const;
  HostAmounts taken_by_others() const;
  std::vector<HostJob> ordered_jobs(const IsBound& is_bound,
                                    const StartConditions& conditions) const;
  // `kept_mb`: the least memory that a job with GPUs waits for; 0: none waits.
  void update_order(const IsBound& is_bound, std::uint32_t kept_mb, StartConditions& conditions);

  const Tables& tables_;
  const HostSize size_;
  std::map<JobId, Need> needs_;             // the jobs that state something
  std::map<JobId, std::uint32_t> held_mb_;  // the ones with processes
  std::uint64_t all_held_mb_ = 0;
  std::size_t without_gpus_ = 0;  // jobs
  bool is_due_ = true;
};

}  // namespace fairlead
