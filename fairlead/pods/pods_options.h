// The options of a scheduler of pods, apart from its policy.
#pragma once

#include "fairlead/pods/node_levels.h"

#include <cstdint>
#include <string>
#include <vector>

namespace fairlead {

// The gangs among which priority classes count (pods/gang_order.h).
enum class PriorityScope : std::uint8_t {
  kUser,     // those of one namespace
  kCluster,  // all
};

// The objects that are gangs.
enum class GangSource : std::uint8_t {
  kKubernetes,  // pods that name Fairlead as their scheduler, and their owners; it binds them to nodes
  kKueue,  // Workloads of Kueue, which starts them within the quotas of its queues (pods/workload.h)
};

struct PodsOptions {
  // Namespace of the Lease, the saved state, and the ConfigMap `fairlead`. The map's `tickets` has a line "NAMESPACE: N" for
  // each namespace with N not 1.
  std::string name_space = "fairlead";
  NodeLevels levels{};
  PriorityScope priority_scope = PriorityScope::kUser;
  GangSource source = GangSource::kKubernetes;
  std::vector<std::string> queues{};  // ClusterQueues, with kKueue; none: all with GPUs
};

}  // namespace fairlead
