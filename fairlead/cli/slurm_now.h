// A Slurm cluster as `fairlead whatif` and the simulator take it: from what scontrol, squeue and sacct print.
#pragma once

#include "fairlead/cli/cluster_whatif.h"

#include <filesystem>
#include <optional>
#include <string>

namespace fairlead {

// Where the outputs are; empty: not given.
struct SlurmFiles {
  std::string nodes;  // scontrol show node
  std::string queue;  // squeue
  std::string ended;  // sacct
};

// Asks scontrol, squeue and sacct, the last for what ended since `since` ("2026-01-01"), and keeps what they
// print in files of `folder`. Error: one of them is not there, or fails.
Result<SlurmFiles> ask_slurm(const std::filesystem::path& folder, const std::string& since);

// Jobs of the queue run as long as those of their user that finished, or as their time limit lets them.
// Errors: no node is told of, or none has a GPU that can be used; a file that cannot be read.
Result<ClusterNow> slurm_now(const SlurmFiles& files);

}  // namespace fairlead
