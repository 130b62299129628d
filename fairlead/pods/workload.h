// Kueue's objects, read as gangs and nodes (docs/decisions/0081-turns-for-kueue.md).
//
//   ClusterQueue   a node with the GPUs of its nominal quota; several nodes if they are more than a node can have
//   LocalQueue     names the ClusterQueue of its Workloads
//   Workload       a gang of as many pods with one GPU as it asks for GPUs. The pods exist while Kueue reserves quota
//                  for it
//
// Kueue chooses the flavor, so the flavors of a ClusterQueue are one GPU type.
#pragma once

#include "fairlead/pods/kinds.h"
#include "fairlead/pods/node.h"
#include "fairlead/pods/owner.h"

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fairlead {

// Returns the kinds of Kueue that a scheduler of Workloads reads: they have no sets.
std::span<const OwnerKind> kueue_kinds();
constexpr std::string_view kWorkload = "Workload";
constexpr std::string_view kClusterQueue = "ClusterQueue";
constexpr std::string_view kLocalQueue = "LocalQueue";
constexpr std::string_view kResourceFlavor = "ResourceFlavor";

// The label of a queue's nodes with the name of the ClusterQueue.
constexpr std::string_view kClusterQueueOf = "fairlead.dev/cluster-queue";

// Returns the GPUs that all pods of a Workload ask for.
std::uint32_t gpus_of_workload(const Json& workload);
// Returns the gang of a Workload. REQUIRES: it asks for GPUs; `queue` is its ClusterQueue.
Owner owner_of_workload(const Json& workload, const std::string& queue);

// The progress of a Workload through Kueue.
enum class QuotaState : std::uint8_t {
  kNone,      // it has no quota
  kReserved,  // its quota; its pods may not run yet
  kRuns,      // its pods may run
  kLeaves,    // it is evicted, and has its quota until its pods are gone
};
QuotaState quota_state_of(const Json& workload);

// Returns the nodes of a ClusterQueue; none if it has no quota of GPUs. `products`: of the flavors, by name.
std::vector<Node> nodes_of_queue(const Json& queue,
                                 const std::map<std::string, std::string>& products);
// Returns true if Kueue evicts Workloads of the ClusterQueue for one of a higher priority there.
bool preempts_within(const Json& queue);
// Returns the product of a flavor's GPUs: its node label, else its name.
std::string product_of_flavor(const Json& flavor);

}  // namespace fairlead
