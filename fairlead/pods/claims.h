// The persistent volume claims that pods use.
#pragma once

#include "fairlead/kube/json.h"
#include "fairlead/pods/resources.h"

#include <nlohmann/json.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace fairlead {

// Annotations of a claim: the node for which a volume is made, and "yes" once it is bound.
constexpr std::string_view kSelectedNode = "volume.kubernetes.io/selected-node";
constexpr std::string_view kBindCompleted = "pv.kubernetes.io/bind-completed";

// The volume that a claim asks for, or that a volume is.
struct ClaimAsks {
  std::string storage_class;
  std::vector<std::string> modes;  // "ReadWriteOnce"
  std::string form;                // "Filesystem" or "Block"
  Amount storage = 0;
  Json selector;  // labels of the volume; null: any
};
ClaimAsks parse_claim_asks(const Json& claim_spec);

// A claim that a pod uses.
struct UsedClaim {
  std::string name;  // in the pod's namespace; without a pod: the name of an ephemeral volume
  bool is_ephemeral = false;  // it is made for the pod, which owns it, and goes with the pod
  ClaimAsks asks{};           // of an ephemeral one
};
// Returns the claims of a pod, or of pods that do not exist yet (`pod` is empty then).
std::vector<UsedClaim> parse_used_claims(const Json& pod_spec, std::string_view pod);

}  // namespace fairlead
