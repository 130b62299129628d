// `fairlead serve --backend kubernetes` and `--backend kueue`, and the queries of other commands to its API server and to that scheduler.
#pragma once

#include "fairlead/base/result.h"
#include "fairlead/cli/daemon.h"
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
  std::vector<std::string> levels;       // node labels, outer to inner; none: racks alone
  std::string priority_scope;            // "user" or "cluster"
  bool is_kueue = false;                 // it schedules Workloads of Kueue
  std::vector<std::string> queues;       // ClusterQueues; none: all with a quota of GPUs
  std::uint64_t seed = 0;
  std::string http;  // "0.0.0.0:8080": where it is seen from outside; empty: nowhere
};

// Returns once SIGTERM or SIGINT comes. Errors: those of serve_pods(), and no way to an API server.
Status serve_kubernetes(const KubernetesFlags& flags);

// Resumes the jobs that a scheduler suspended, and prints their names. Errors: those of resume_all(), and no way to an API
// server.
Status leave_kubernetes(const KubernetesFlags& flags);

// Returns the cluster's state from the API server. Errors: those of take_census(), and no way to a server.
Result<Census> kubernetes_census(const std::string& context, const CensusOptions& options);

// Returns the gang that a manifest in YAML or JSON would create; "-": standard input. The API server checks and completes it in
// a dry run, which creates nothing. Errors: it is not one object of a kind in the table of owners (pods/kinds.h); the server
// refuses it; those of planned_gang().
Result<CensusGang> gang_of_manifest(const std::string& context, const std::string& file);

// The address of the scheduler that leads: its status endpoint at `http`, or if that is empty, its pod through the API
// server.
struct SchedulerFlags {
  std::string context;                  // kubeconfig context; empty: the current one
  std::string name_space = "fairlead";  // of the scheduler
  std::string http{};
};
// Adds --context, --namespace and --http, and returns these.
std::vector<CLI::Option*> add_scheduler_flags(CLI::App& app, SchedulerFlags& flags);

// Finds that scheduler. Errors: no way to an API server; no scheduler leads.
Result<DaemonQueries> connect_scheduler(const SchedulerFlags& flags);

// Prints why a Job, "NAMESPACE/JOB", waits. Errors: as connect_scheduler(); no such Job.
Status why_on_kubernetes(const SchedulerFlags& flags, const std::string& job);

// The daemon that a command queries.
struct QueryFlags {
  std::string socket{};
  std::string from = "daemon";  // or "kubernetes"
  SchedulerFlags scheduler{};

  bool is_kubernetes() const { return from == "kubernetes"; }
};
// Adds --from, and the flags of each source.
void add_query_flags(CLI::App& app, QueryFlags& flags);
Result<DaemonQueries> connect(const QueryFlags& flags);

}  // namespace fairlead
