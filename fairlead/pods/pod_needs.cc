#include "fairlead/pods/pod_needs.h"

#include "fairlead/pods/slots.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>

namespace fairlead {
namespace {

// Returns a requirement that Fairlead does not support and would break silently. Preferences may be broken.
std::string_view unknown_need(const Json& pod_spec) {
  const auto is_required = [&](std::string_view kind) {
    return !json_at(pod_spec, {"affinity", kind, "requiredDuringSchedulingIgnoredDuringExecution"})
                .empty();
  };
  if (is_required("podAffinity")) return "required podAffinity";
  if (is_required("podAntiAffinity")) return "required podAntiAffinity";
  const Json& spreads = json_at(pod_spec, {"topologySpreadConstraints"});
  const bool is_spread = std::any_of(spreads.begin(), spreads.end(), [](const Json& spread) {
    return text_at(spread, {"whenUnsatisfiable"}) != "ScheduleAnyway";
  });
  if (is_spread) return "a topologySpreadConstraint with DoNotSchedule";
  return json_at(pod_spec, {"resourceClaims"}).empty()
             ? ""
             : "resourceClaims that are not known to be for whole GPUs";
}

bool has_liveness_probe(const Json& pod_spec) {
  const Json& containers = json_at(pod_spec, {"containers"});
  return std::any_of(containers.begin(), containers.end(), [](const Json& container) {
    return json_at(container, {"livenessProbe"}).is_object();
  });
}

}  // namespace

Result<PodNeeds> parse_pod_needs(const Json& pod_spec) {
  if (!text_at(pod_spec, {"nodeName"}).empty()) {
    return input_error("its pods have a nodeName, which Fairlead does not support");
  }
  return needs_of_pod(pod_spec);
}

Result<PodNeeds> needs_of_pod(const Json& pod_spec) {
  if (const std::string_view need = unknown_need(pod_spec); !need.empty()) {
    return input_error("its pods have {}, which Fairlead does not support", need);
  }
  FL_TRY_ASSIGN(rules, parse_node_rules(pod_spec));
  Resources requests = pod_requests(pod_spec);
  if (requests.contains(kSlotResource) && has_liveness_probe(pod_spec))
    return input_error("its pods have a livenessProbe, which fails while they are frozen");
  // Nodes with devices are often reserved by a taint with the resource's name. The API server adds the
  // toleration to pods that request the resource (ExtendedResourceToleration), but not to their templates.
  for (const auto& [name, amount] : requests) {
    if (name.find('/') == name.npos || amount == 0) continue;
    rules.tolerations.push_back({.key = name, .is_any_value = true, .effect = "NoSchedule"});
  }
  return PodNeeds{std::move(rules), std::move(requests)};
}

PodNeeds both(const PodNeeds& one, const PodNeeds& other) {
  if (one == other) return one;
  PodNeeds needs{both(one.rules, other.rules), one.requests};
  raise(needs.requests, other.requests);
  return needs;
}

std::string obstacle(const PodNeeds& needs, const Node& node) {
  if (std::string why = obstacle(needs.rules, node); !why.empty()) return why;
  if (node.slots_per_gpu > 0 && !needs.requests.contains(kSlotResource)) {
    return fmt::format("that have {} alone", kSlotResource);
  }
  Resources others = needs.requests;
  others.erase(std::string(kGpuResource));
  const std::string lacks = lacking(node.allocatable, {}, others);
  return lacks.empty() ? "" : fmt::format("with too little {}", lacks);
}

}  // namespace fairlead
