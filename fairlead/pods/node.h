// Nodes as far as a scheduler of GPUs needs to know them.
#pragma once

#include "fairlead/pods/resources.h"

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace fairlead {

constexpr std::string_view kGpuProduct = "nvidia.com/gpu.product";  // label of nodes

// What keeps pods off a node that do not tolerate it.
struct Taint {
  std::string key;
  std::string value;
  std::string effect;  // "NoSchedule" or "NoExecute"
  friend bool operator==(const Taint&, const Taint&) = default;
};

struct Node {
  std::string name;
  std::string product;              // of its GPUs; empty: not said
  std::uint32_t gpus = 0;           // that pods can have
  std::uint32_t gpus_all = 0;       // with those that are broken
  std::uint32_t slots_per_gpu = 0;  // 0: it offers no slots, and its GPUs are for one pod each
  std::uint32_t devices = 0;        // GPUs that its device plugin counts
  std::map<std::string, std::string, std::less<>> labels;
  std::vector<Taint>
      taints;  // without those that say how it is at this time, such as disk-pressure
  Resources allocatable;
  bool is_ready = false;
  // It is to get no new pods: it is unschedulable, short of something, or about to be taken away.
  bool is_cordoned = false;
};
Node parse_node(const Json& node);

// The GPU type of a product label: "H100" of "NVIDIA-H100-80GB-HBM3", "A100-1g.10gb" of the MIG slices
// of "NVIDIA-A100-SXM4-80GB-MIG-1g.10gb", which are GPUs of their own; "GPU" where there is none. Those
// of nodes with slots are types of their own, "H100-slot", as no other jobs run there.
std::string gpu_type_of(std::string_view product, bool has_slots = false);

}  // namespace fairlead
