// The numbers of a machine's GPUs across restarts, by the GPUs' names.
//
// A journal names GPUs by node and number. A GPU keeps its number as long as the folder is used: one that the machine
// has no more is absent, and a new one gets a number behind all others, on a node of its own.
#pragma once

#include "fairlead/local/machine.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace fairlead {

struct KnownGpus {
  std::vector<std::string> types;  // by GpuTypeId
  struct Node {
    std::string name;
    GpuTypeId type;
    std::uint32_t gpus = 0;
  };
  std::vector<Node> nodes;         // as the journal has them
  std::vector<std::string> names;  // by the number of the GPU; empty: an older daemon kept none
};

struct SameGpus {
  Machine machine;  // its first nodes are the known ones
  Cluster cluster;  // the known nodes alone
  std::vector<std::string>
      unknown_types;  // types of new GPUs that cannot be used with this journal
};

// Error: the journal has a node that no machine can have.
Result<SameGpus> same_gpus(const Machine& present, const KnownGpus& known);

}  // namespace fairlead
