// A Slurm cluster as input of `fairlead whatif` and the simulator: from the output of scontrol, squeue and sacct.
#pragma once

#include "fairlead/forecast/cluster_now.h"

#include <filesystem>
#include <optional>
#include <string>

namespace fairlead {

// The files with the outputs; empty: not given.
struct SlurmFiles {
  std::string nodes;  // scontrol show node
  std::string queue;  // squeue
  std::string ended;  // sacct
};

// Runs scontrol, squeue and sacct, the last for jobs that ended since `since` ("2026-01-01"), and keeps their output in
// files of `folder`. Error: one of them is missing, or fails.
Result<SlurmFiles> ask_slurm(const std::filesystem::path& folder, const std::string& since);

// Jobs of the queue run as long as the finished jobs of their user, or up to their time limit. Errors: there is no
// node, or none with a usable GPU; a file cannot be read.
Result<ClusterNow> slurm_now(const SlurmFiles& files);

}  // namespace fairlead
