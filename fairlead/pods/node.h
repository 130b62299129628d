// The fields of nodes that a scheduler of GPUs needs.
#pragma once

#include "fairlead/pods/label_selector.h"
#include "fairlead/pods/resources.h"

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace fairlead {

constexpr std::string_view kGpuProduct = "nvidia.com/gpu.product";  // label of nodes

// Keeps pods off a node that do not tolerate it.
struct Taint {
  std::string key;
  std::string value;
  std::string effect;  // "NoSchedule" or "NoExecute"
  friend bool operator==(const Taint&, const Taint&) = default;
};

struct Node {
  std::string name;
  std::string product;              // product of its GPUs; empty: not known
  std::uint32_t gpus = 0;           // GPUs that pods can have
  std::uint32_t gpus_all = 0;       // GPUs with the broken ones
  std::uint32_t slots_per_gpu = 0;  // 0: it offers no slots; each of its GPUs is for one pod
  std::uint32_t devices = 0;        // GPUs that its device plugin counts
  Labels labels;
  std::vector<Taint> taints;  // without taints for its present condition, such as disk-pressure
  Resources allocatable;
  bool is_ready = false;
  // It must not get new pods: it is unschedulable, short of a resource, or about to be removed.
  bool is_cordoned = false;
};
Node parse_node(const Json& node);

// Returns the GPU type of a product label: "H100" for "NVIDIA-H100-80GB-HBM3", "GPU" if there is none.
// MIG slices count as separate GPUs: "A100-1g.10gb" for "NVIDIA-A100-SXM4-80GB-MIG-1g.10gb". Nodes with
// slots have separate types, "H100-slot", because no other jobs run there.
std::string gpu_type_of(std::string_view product, bool has_slots = false);

}  // namespace fairlead
