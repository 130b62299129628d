// A Kubernetes cluster as `fairlead whatif` and the simulator take it: the queue that it has now, and
// a cluster and a trace in Fairlead's own formats of all the gangs that it knows of.
#pragma once

#include "fairlead/cli/forecast.h"
#include "fairlead/pods/census.h"

#include <filesystem>
#include <string>
#include <vector>

namespace fairlead {

struct ClusterNow {
  QueueNow queue;                 // what wants GPUs now; all arrive at once
  std::vector<NodeSpec> nodes;    // with the GPUs that can be used
  Trace trace;                    // of all gangs, from the first that is known of
  std::vector<std::string> said;  // what was left out or is assumed, a line each
};

// Error: there is no GPU that could be used. O(gangs that are here x gangs).
Result<ClusterNow> cluster_now(const Census& census);

// Cluster YAML (docs/formats.md) of these nodes.
std::string cluster_yaml(const std::vector<NodeSpec>& nodes);

// Writes cluster.yaml and jobs.csv, which `fairlead simulate` and `fairlead compare` read, to a folder,
// which is made where it is not there.
Status save(const ClusterNow& now, const std::filesystem::path& folder);

// What `whatif` prints below its tables, a line each: how long jobs still take, by how that is known,
// and what was left out.
std::string assumptions_text(const ClusterNow& now);

}  // namespace fairlead
