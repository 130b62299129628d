#include "fairlead/pods/node.h"

#include "fairlead/model/gpu_names.h"
#include "fairlead/pods/slots.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace fairlead {
namespace {

// Returns whether a taint is temporary: set by the node controller, a kubelet or an autoscaler for the
// duration of a condition.
bool is_of_the_moment(std::string_view taint) {
  return taint.starts_with("node.kubernetes.io/") ||
         taint.starts_with("node.cloudprovider.kubernetes.io/") ||
         taint == "ToBeDeletedByClusterAutoscaler" || taint == "karpenter.sh/disrupted";
}

// Returns whether a taint repeats the node's readiness, which its conditions show sooner.
bool is_of_readiness(std::string_view taint) {
  return taint == "node.kubernetes.io/not-ready" || taint == "node.kubernetes.io/unreachable";
}

void set_taints(const Json& node, Node& parsed) {
  for (const Json& taint : json_at(node, {"spec", "taints"})) {
    const std::string& key = text_at(taint, {"key"});
    const std::string& effect = text_at(taint, {"effect"});
    if (effect != "NoSchedule" && effect != "NoExecute") continue;
    if (!is_of_the_moment(key)) {
      parsed.taints.push_back({key, text_at(taint, {"value"}), effect});
    } else if (!is_of_readiness(key)) {
      parsed.is_cordoned = true;
    }
  }
}

void set_gpus(const Json& node, Node& parsed) {
  parsed.devices = count_at(node, {"status", "allocatable", kGpuResource});
  parsed.gpus = parsed.devices;
  parsed.gpus_all = count_at(node, {"status", "capacity", kGpuResource});
  if (const std::uint32_t slots = count_at(node, {"status", "allocatable", kSlotResource});
      slots > 0) {
    const std::uint32_t per_gpu =
        std::max(1U, count_at(node, {"metadata", "annotations", kSlotsPerGpu}));
    parsed.slots_per_gpu = per_gpu;
    parsed.gpus = slots / per_gpu;
    parsed.gpus_all = count_at(node, {"status", "capacity", kSlotResource}) / per_gpu;
  }
  parsed.gpus_all = std::max(parsed.gpus_all, parsed.gpus);
}

}  // namespace

Node parse_node(const Json& node) {
  Node parsed{.name = text_at(node, {"metadata", "name"}),
              .product = text_at(node, {"metadata", "labels", kGpuProduct}),
              .allocatable = parse_resources(json_at(node, {"status", "allocatable"})),
              .is_ready = text_at(item_at(node, {"status", "conditions"}, "type", "Ready"),
                                  {"status"}) == "True",
              .is_cordoned = is_true_at(node, {"spec", "unschedulable"})};
  set_gpus(node, parsed);
  if (const Json& labels = json_at(node, {"metadata", "labels"}); labels.is_object()) {
    for (const auto& [key, value] : labels.items()) parsed.labels[key] = text_at(value, {});
  }
  set_taints(node, parsed);
  return parsed;
}

std::string gpu_type_of(std::string_view product, bool has_slots) {
  const std::string_view suffix = has_slots ? "-slot" : "";
  if (product.empty()) return "GPU" + std::string(suffix);
  std::string words(product);
  std::ranges::replace(words, '-', ' ');
  return short_gpu_name(words) + std::string(suffix);
}

}  // namespace fairlead
