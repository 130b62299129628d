// Lists of resources in the output of Slurm: trackable resources (TRES) and generic resources (GRES).
#pragma once

#include "fairlead/model/job_asks.h"

#include <cstdint>
#include <string_view>

namespace fairlead {

// The GPUs in a list of trackable resources, for example "cpu=8,gres/gpu=8" or "gres/gpu:v100=4,gres/gpu:a100=4"; Slurm
// may write both, the sum and its parts.
struct SlurmGpus {
  std::int64_t all = 0;
  std::int64_t typed = 0;
  std::string_view type;   // if there is just one
  std::int64_t nodes = 0;  // "node=2"; 0: unknown
  CpuMemory other{};       // "cpu=16,mem=64G"
  bool bad = false;
  bool cut = false;  // the list ends before its end

  std::int64_t count() const { return all > 0 ? all : typed; }
  // Adds `amount` of the generic resource `name`: "gpu" or "gpu:v100"; others, such as "gpumem", do
  // not count.
  void add(std::string_view name, std::int64_t amount);
};

// Returns an amount of memory, "64G", "187.50G" or "4000M"; without a unit it is in MB. Not stated if it is none.
Thousandths slurm_memory(std::string_view text);

// Returns the GPUs of such a list.
SlurmGpus slurm_gpus(std::string_view resources);
// The same of a list of generic resources, as of AllocGRES or squeue: "gpu:a100:4", "gres/gpu:4", "gpu".
SlurmGpus slurm_gres(std::string_view resources);

// The two lists of a job: its request and its allocation; empty: unknown.
struct SlurmJobGpus {
  SlurmGpus requested;
  SlurmGpus allocated;
  bool has_requested = false;
  bool has_allocated = false;

  // Returns the CPUs and memory that the job asked for; an amount that is not in the request is the allocated one.
  CpuMemory asks() const;
  const SlurmGpus& either() const { return has_allocated ? allocated : requested; }
  // Returns the GPUs of each of its nodes, if all nodes have as many; 1 if not, or if that is unknown. REQUIRES:
  // either() has GPUs.
  std::int64_t task_gpus() const;
};

}  // namespace fairlead
