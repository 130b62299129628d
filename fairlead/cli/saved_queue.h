// The folder that `fairlead import` and `whatif --save` write, and `whatif --from DIR` reads: a cluster, its queue and its
// log in Fairlead's own formats.
#pragma once

#include "fairlead/forecast/cluster_now.h"

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace fairlead {

// Cluster YAML (docs/formats.md) of these nodes.
std::string cluster_yaml(const std::string& name, const std::vector<NodeSpec>& nodes);

// The files of a saved cluster. `fairlead simulate` and `fairlead compare` also read them.
constexpr std::string_view kSavedCluster = "cluster.yaml";
constexpr std::string_view kSavedJobs = "jobs.csv";      // if the times of jobs are known
constexpr std::string_view kSavedQueue = "queue.csv";    // with the remaining time of each
constexpr std::string_view kSavedLimits = "limits.csv";  // if the limits of the site are known
constexpr std::string_view kSavedNotes = "notes.txt";    // assumptions_text

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
