// The GPUs of a job that is simulated iteration by iteration: several jobs share a GPU if its
// memory allows (Wang et al., arXiv 2002.10105: LWF-kappa and its baselines).
#pragma once

#include "fairlead/base/ids.h"
#include "fairlead/base/result.h"
#include "fairlead/base/rng.h"

#include <cstdint>
#include <string_view>
#include <vector>

namespace fairlead {

using GpuId = Id<struct GpuTag>;  // over all nodes, node by node

struct GpuLoad {
  NodeId node;
  std::int64_t memory_mb = 0;    // free, MB
  std::int64_t workload_ns = 0;  // the remaining computation and communication of its jobs
};

struct GpuRule {
  enum class Kind : std::uint8_t {
    kRandom,       // any
    kFirstFit,     // the first, by node
    kLeastLoaded,  // list scheduling: the GPUs with the least workload
    kLwf,  // LWF-kappa: the same up to kappa GPUs; above, node by node from the least loaded
  };
  Kind kind = Kind::kLwf;
  std::int64_t kappa = 1;
};

// "random", "first-fit", "least-loaded", "lwf-1". Error: none of these.
Result<GpuRule> parse_gpu_rule(std::string_view text);

// Returns `count` GPUs that have this much memory free; empty if there are too few. Ties go to the lower id. O(GPUs log
// GPUs). REQUIRES: loads are in the order of nodes, count > 0.
std::vector<GpuId> choose_gpus(const GpuRule& rule, const IdVector<GpuId, GpuLoad>& loads,
                               std::size_t count, std::int64_t memory_mb, Rng& rng);

}  // namespace fairlead
