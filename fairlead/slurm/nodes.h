// Nodes from Slurm: the output of `scontrol show node`, or of `scontrol --oneliner show node`.
//
// The name of a node, its GPUs (Gres, or CfgTRES if Gres has none), its CPUs (CPUTot) and memory (RealMemory), its partitions, its features and its state are
// read. This output has no racks, so all nodes are in one.
#pragma once

#include "fairlead/base/file.h"
#include "fairlead/base/result.h"
#include "fairlead/model/cluster.h"
#include "fairlead/model/cluster_build.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace fairlead {

struct SlurmNode {
  NodeSpec spec;
  std::vector<std::string> partitions;  // empty: the output does not name them
  std::vector<std::string> features;    // active ones
};

struct SlurmNodes {
  // With GPUs that jobs may get, in the order of the file. One with several GPU types is a node for each on
  // one host, called "gpu01/a100". GPUs without a type are of the type "GPU". A MIG instance is a GPU of the type of
  // its profile, "a100_1g.5gb".
  std::vector<SlurmNode> nodes;
  std::map<std::string, std::int64_t>
      left_out;  // nodes with GPUs, by the state that keeps jobs away
  std::int64_t without_gpus = 0;
};

// Errors, with the line: a node of which GPUs cannot be counted; text that is not about nodes.
Result<SlurmNodes> read_slurm_nodes(ByteSource& source);

}  // namespace fairlead
