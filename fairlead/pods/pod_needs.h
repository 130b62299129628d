// The requirements of a gang's pods on a node, beside free GPUs.
#pragma once

#include "fairlead/pods/node_rules.h"
#include "fairlead/pods/resources.h"

#include <compare>
#include <string>

namespace fairlead {

struct PodNeeds {
  NodeRules rules;
  Resources requests;  // resources of one pod
  friend auto operator<=>(const PodNeeds&, const PodNeeds&) = default;
};

// Parses the needs of a pod. Error, in words for its user: an unsupported need (the place of other pods,
// a device by claim, a node by its name), or slots with a livenessProbe.
Result<PodNeeds> parse_pod_needs(const Json& pod_spec);
// The same for an existing pod, which may have its node already.
Result<PodNeeds> needs_of_pod(const Json& pod_spec);

// Returns needs that suffice for pods of either kind.
PodNeeds both(const PodNeeds& one, const PodNeeds& other);

// Returns why no such pod can be on the node even if the node is empty: "with too little memory". Empty:
// one can, if there are enough GPUs. Nodes with slots (pods/slots.h) are only for pods that ask for slots.
std::string obstacle(const PodNeeds& needs, const Node& node);

}  // namespace fairlead
