// The common parts of the two forms of Slurm's sacct, tables and JSON.
#pragma once

#include "fairlead/base/file.h"
#include "fairlead/model/workload.h"

#include <cstdint>
#include <string_view>

namespace fairlead {

// The GPUs in a list of trackable resources, for example "cpu=8,gres/gpu=8" or "gres/gpu:v100=4,gres/gpu:a100=4"; Slurm
// may write both, the sum and its parts.
struct SlurmGpus {
  std::int64_t all = 0;
  std::int64_t typed = 0;
  std::string_view type;  // if there is just one
  bool bad = false;
  bool cut = false;  // the list ends before its end

  std::int64_t count() const { return all > 0 ? all : typed; }
  // Adds `amount` of the generic resource `name`: "gpu" or "gpu:v100"; others, such as "gpumem", do
  // not count.
  void add(std::string_view name, std::int64_t amount);
};

// Returns the GPUs of such a list.
SlurmGpus slurm_gpus(std::string_view resources);

// Reads what sacct --json writes: Slurm 21.08 and later.
Status read_slurm_json(ByteSource& source, WorkloadBuilder& builder);

}  // namespace fairlead
