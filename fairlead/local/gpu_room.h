// Room in the memory of GPUs for the jobs that state how much they need of each.
//
// A job that fits on no GPUs beside the jobs that would lose their work is held (StartConditions::set_has_room). Jobs that
// can save their work leave for it (docs/decisions/0066-gpu-memory-is-a-condition-of-the-start.md).
#pragma once

#include "fairlead/engine/tables.h"
#include "fairlead/local/gpu_memory_book.h"
#include "fairlead/local/machine.h"
#include "fairlead/local/start_conditions.h"

#include <functional>
#include <map>
#include <set>
#include <span>

namespace fairlead {

class GpuRoom {
 public:
  // `cluster`: the machine's, which may have nodes that the tables do not have yet. REQUIRES: the tables outlive this.
  GpuRoom(const Tables& tables, const Cluster& cluster)
      : tables_(tables), first_(first_gpus(cluster)), memory_(cluster.gpus) {}

  struct Need {
    std::uint32_t gpus = 1;
    TypeMask types = kAllTypes;
    std::uint32_t memory_mb = 0;  // the memory of each GPU; 0: not stated
  };
  // Adds a job, until remove().
  void add(JobId job, const Need& need);
  void remove(JobId job);
  // Notes that the job has processes on the GPUs, and that they have ended.
  void come(JobId job, std::span<const std::uint32_t> gpus);
  void leave(JobId job) { memory_.remove(job); }
  // Sets the driver's report: GpuMemoryBook::set_report().
  void set_report(std::span<const GpuMemory> report) { memory_.set_report(report); }

  // Returns whether the job fits on the GPUs beside all jobs there. O(jobs there).
  bool fits(JobId job, std::span<const std::uint32_t> gpus) const;
  // Returns the jobs to leave the GPUs so that the job fits: on each GPU the latest ones that `may_leave` accepts, as few
  // as needed. Empty: the job does not fit even then, and is without room until a pause is over.
  // REQUIRES: it does not fit now.
  std::set<JobId> leavers(Time now, JobId job, std::span<const std::uint32_t> gpus,
                          const std::function<bool(JobId)>& may_leave);

  // Notes in `conditions` which jobs have room. `is_bound`: has processes, or a start. O(jobs x GPUs).
  void update(Time now, const std::function<bool(JobId)>& is_bound, StartConditions& conditions);
  // Returns the time of the next update() that may have something to do without a change before.
  Time deadline() const;

 private:
  std::uint32_t need_mb(JobId job) const;
  bool has_room(JobId job, const Need& need) const;

  const Tables& tables_;
  const FirstGpus first_;
  GpuMemoryBook memory_;
  std::map<JobId, Need> needs_;        // jobs that state their memory
  std::map<JobId, Time> rests_until_;  // after a start without room
};

}  // namespace fairlead
