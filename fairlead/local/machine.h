// The GPUs of this machine, from the driver, or stand-ins for them.
//
// Each GPU type is a node, or several of at most `node_gpus`, all on one host, in the order of the types. Copies of a
// job (HadarE) are on different nodes, so the number of nodes matters to them.
#pragma once

#include "fairlead/base/ids.h"
#include "fairlead/base/result.h"
#include "fairlead/io/gpu_driver.h"
#include "fairlead/model/cluster.h"
#include "fairlead/model/gang_pool.h"

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fairlead {

// The processors and the memory of a machine.
struct HostSize {
  std::uint32_t cpus = 0;       // 0: not known
  std::uint32_t memory_mb = 0;  // 10^6 bytes; 0: not known
};

struct Machine {
  Cluster cluster;
  // The assumed speed of a GPU of each type, only for stand-ins, which pass it to their jobs (FAIRLEAD_SPEED). 1 for a
  // real GPU.
  IdVector<GpuTypeId, double> speed;
  // Names as in the variable visible_devices, by the machine's number of the GPU (machine_gpus()).
  std::vector<std::string> gpu_names;
  std::string visible_devices = "CUDA_VISIBLE_DEVICES";  // as GpuDriver::visible_devices()
  std::vector<std::uint32_t>
      driver_numbers{};  // beside gpu_names: their numbers in the driver's order
  // GPUs that the machine had when its folder was last used, and that it has no more.
  std::set<std::uint32_t> absent{};
  std::set<std::uint32_t> not_served{};  // by the choice of the administrator
  HostSize host{};
};

// The first number of each node's GPUs: a machine numbers its GPUs node by node.
using FirstGpus = IdVector<NodeId, std::uint32_t>;  // by node; last: the number of all GPUs
FirstGpus first_gpus(const Cluster& cluster);
// Returns the node of a GPU. O(log nodes). REQUIRES: the machine has the GPU.
NodeId node_of(const FirstGpus& first, std::uint32_t gpu);
std::vector<std::uint32_t> machine_gpus(const FirstGpus& first, Gang gang,
                                        std::span<const std::uint64_t> gpu_masks);

// "4xV100,4xK80@0.25": eight stand-in GPUs, of which the last four run at a quarter of the speed; "1xV100:4" is the
// same as "4xV100". Error: the place and the mistake.
Result<Machine> stand_in_machine(std::string_view text, std::uint32_t node_gpus = kNodeGpusMax);

// Returns the GPUs of the driver (io/gpu_driver.h). Error: there is no driver, or it lists no GPU.
Result<Machine> driver_machine(const GpuLibraries& libraries,
                               std::uint32_t node_gpus = kNodeGpusMax);

// Returns the size of the machine of this process.
HostSize host_size();

// Leaves out the GPUs that `list` does not name. "0-5,7": by their numbers in the driver's order, which for stand-ins
// are their names; "GPU-1f...": by their names. Empty: names all. Error: there is no such GPU.
Status serve_only(std::string_view list, Machine& machine);

// "4 V100, 4 K80".
std::string gpus_text(const Machine& machine);

}  // namespace fairlead
