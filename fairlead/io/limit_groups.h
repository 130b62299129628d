// Cgroups that limit the memory, the processors and the devices of tasks.
//
// A controller of cgroup v1 that is mounted is used there, with a group for each task. Otherwise the task's group of
// cgroup v2 (io/cgroups.h) has the limit. Groups are named by their folders (docs/decisions/0068-cpus-memory-and-devices.md).
#pragma once

#include "fairlead/base/result.h"
#include "fairlead/io/device_program.h"

#include <cstdint>
#include <string>
#include <vector>

namespace fairlead {

struct TaskBounds {
  std::uint64_t memory_bytes = 0;  // with swap; 0: no limit
  std::uint32_t cpu_milli = 0;     // time on processors, in thousandths of one; 0: no limit
  // Its part of busy processors relative to other tasks: its GPUs. 0: a tenth of one GPU.
  std::uint32_t cpu_weight = 1;
  std::vector<DeviceNumber> denied{};  // devices that it may not open
};

class LimitGroups {
 public:
  // Looks for places where this process may make groups: fairlead/`name` below its own groups, otherwise below the
  // roots. `unified`: the result of find_cgroups() for the same name.
  static LimitGroups find(const std::string& name, const std::string& unified);

  // Uses the controllers that groups in `unified` have, as far as there is none of cgroup v1.
  void use_unified(const std::string& unified);

  bool has_memory() const { return !memory_.empty() || has_unified_memory_; }
  bool has_cpu() const { return !cpu_.empty() || has_unified_cpu_; }
  bool has_devices() const { return !devices_.empty() || has_unified_devices_; }

  // Makes the groups of a task with its limits, and returns the groups for its processes to join. `unified`: the task's group
  // of cgroup v2; empty: none. Limits whose controller this process may not use are left out. Error: some groups may be there.
  Result<std::vector<std::string>> make(const std::string& task, const std::string& unified,
                                        const TaskBounds& bounds) const;
  // Removes the groups of a task that make() may have made. Groups that contain processes stay.
  void remove(const std::string& task) const;
  // Removes the places, unless there are groups of tasks.
  void remove() const;

 private:
  std::vector<std::string> places() const;
  Status limit_unified(const std::string& unified, const TaskBounds& bounds) const;

  // Folders of cgroup v1 for the tasks' groups; empty: none.
  std::string memory_;
  std::string cpu_;
  std::string devices_;
  bool has_unified_memory_ = false;
  bool has_unified_cpu_ = false;
  bool has_unified_devices_ = false;
};

// Returns whether the kernel has ended a process of the group for lack of memory. False: the group does not count that.
bool has_run_out_of_memory(const std::string& group);

}  // namespace fairlead
