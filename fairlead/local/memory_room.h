// Room for jobs in the memory of GPUs (local/gpu_room.h) and on the machine (local/host_room.h). Jobs come to both and
// leave both together; the costs are theirs. Source: ours.
#pragma once

#include "fairlead/local/gpu_room.h"
#include "fairlead/local/host_room.h"

#include <cstdint>
#include <functional>
#include <span>

namespace fairlead {

struct MemoryRoom {
  // Adds a job, until remove().
  void add(JobId job, const GpuRoom::Need& on_gpus, const HostRoom::Need& on_host) {
    gpus.add(job, on_gpus);
    host.add(job, on_host);
  }
  void remove(JobId job) {
    host.remove(job);
    gpus.remove(job);
  }
  // Notes that the job has processes on the GPUs, and that they have ended.
  void come(JobId job, std::span<const std::uint32_t> on_gpus) {
    gpus.come(job, on_gpus);
    host.come(job);
  }
  void leave(JobId job) {
    gpus.leave(job);
    host.leave(job);
  }
  // Notes in `conditions` which jobs have room. `is_bound`: has processes, or a start.
  void update(Time now, const std::function<bool(JobId)>& is_bound, StartConditions& conditions) {
    gpus.update(now, is_bound, conditions);
    host.update(is_bound, conditions);
  }

  GpuRoom gpus;
  HostRoom host;
};

}  // namespace fairlead
