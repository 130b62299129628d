// `fairlead serve --backend kubernetes`, and the queries of other commands to its API server.
#pragma once

#include "fairlead/base/result.h"
#include "fairlead/pods/census.h"

#include <cstdint>
#include <string>
#include <vector>

namespace fairlead {

struct KubernetesFlags {
  std::string context;     // kubeconfig context; empty: the current one, or the service account
  std::string name_space;  // namespace of the Lease and the ConfigMap `fairlead`
  std::string policy;
  std::vector<std::string> rack_labels;  // node labels; none: the usual ones
  std::uint64_t seed = 0;
  std::string http;  // "0.0.0.0:8080": where it is seen from outside; empty: nowhere
};

// Returns once SIGTERM or SIGINT comes. Errors: those of serve_pods(), and no way to an API server.
Status serve_kubernetes(const KubernetesFlags& flags);

// Returns the cluster's state from the API server. Errors: those of take_census(), and no way to a server.
Result<Census> kubernetes_census(const std::string& context, const CensusOptions& options);

// Prints why a Job, "NAMESPACE/JOB", waits, by the scheduler that leads: from its page at `http`, or if that is empty,
// from its pod through the API server. Errors: neither can be reached; no such Job.
Status why_on_kubernetes(const KubernetesFlags& flags, const std::string& job);

}  // namespace fairlead
