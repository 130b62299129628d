// A cluster as input of `fairlead whatif` and the simulator: its current queue, and a cluster and a trace in Fairlead's
// own formats of all known jobs. From Kubernetes here, from Slurm in slurm_now.h; saved to a folder, and read from one.
#pragma once

#include "fairlead/cli/forecast.h"
#include "fairlead/model/cluster_build.h"
#include "fairlead/pods/census.h"

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fairlead {

struct ClusterNow {
  QueueNow queue;                 // jobs that want GPUs now; all arrive at once
  std::string name;               // the cluster's name
  std::vector<NodeSpec> nodes;    // with the usable GPUs
  std::optional<Trace> trace;     // trace of all jobs, from the first known one
  std::vector<std::string> said;  // omissions and assumptions, a line each
};

// Error: no GPU can be used. O(present gangs x gangs).
Result<ClusterNow> cluster_now(const Census& census);

// Cluster YAML (docs/formats.md) of these nodes.
std::string cluster_yaml(const std::string& name, const std::vector<NodeSpec>& nodes);

// The files of a saved cluster. `fairlead simulate` and `fairlead compare` also read them.
constexpr std::string_view kSavedCluster = "cluster.yaml";
constexpr std::string_view kSavedJobs = "jobs.csv";    // if the times of jobs are known
constexpr std::string_view kSavedQueue = "queue.csv";  // with the remaining time of each
constexpr std::string_view kSavedNotes = "notes.txt";  // assumptions_text

// Writes them to a folder, which is created if it does not exist. Error: another process writes there.
Status save(const ClusterNow& now, const std::filesystem::path& folder);

struct SavedQueue {
  QueueNow queue;
  std::string notes;
};
// Errors: a file is missing or cannot be read.
Result<SavedQueue> read_saved_queue(const std::filesystem::path& folder);

// Returns the lines that `whatif` prints below its tables: the remaining time of jobs, by its source, and omissions.
std::string assumptions_text(const ClusterNow& now);

}  // namespace fairlead
