// What the pods of a gang need of a node, beside GPUs that are free.
#pragma once

#include "fairlead/pods/node_rules.h"
#include "fairlead/pods/resources.h"

#include <compare>
#include <string>

namespace fairlead {

struct PodNeeds {
  NodeRules rules;
  Resources requests;  // of one pod
  friend auto operator<=>(const PodNeeds&, const PodNeeds&) = default;
};

// Error: what it needs is not looked at here (the place of other pods, a device by claim, a node by
// its name), in words for the user of `pod_spec`.
Result<PodNeeds> parse_pod_needs(const Json& pod_spec);
// The same of a pod that is there, and may have its node already.
Result<PodNeeds> needs_of_pod(const Json& pod_spec);

// What does for pods of either kind.
PodNeeds both(const PodNeeds& one, const PodNeeds& other);

// Why no such pod can be on the node even if it is empty: "with too little memory"; empty: one can, as
// far as it is not for want of GPUs. Nodes with slots (pods/slots.h) are for pods that ask for slots.
std::string obstacle(const PodNeeds& needs, const Node& node);

}  // namespace fairlead
