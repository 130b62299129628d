// Jobs that share GPUs and the network, simulated iteration by iteration (Wang et al., arXiv 2002.10105): a world of
// its own beside the engine, in which jobs share no GPU.
//
// A GPU computes one phase of one of its jobs at a time, to its end. Every choice takes the job with the shortest
// remaining service first (SRSF): its remaining computation over all of its GPUs. That applies to waiting jobs when
// memory becomes free, to phases when a GPU does, and to all-reduces when a node does (transfers.h). Ties go to the
// lower JobId, which is the job's row. At each time, phases and all-reduces end first; then jobs are placed,
// all-reduces start, and phases start.
//
// Cost: O(jobs on the GPU + log GPUs) for each phase; O(waiting all-reduces x nodes of each) for each all-reduce;
// O(GPUs log GPUs + jobs on them) for each waiting job when a job arrives or ends.
#pragma once

#include "fairlead/iteration/jobs.h"
#include "fairlead/iteration/placement.h"
#include "fairlead/iteration/transfers.h"
#include "fairlead/model/cluster.h"

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace fairlead {

struct IterationPolicy {
  TransferRule transfers = TransferRule::kAdaSrsf;
  GpuRule gpus;
};

// Parses a policy like "ada-srsf:placement=lwf-1": srsf-1, srsf-2, ada-srsf or ada-srsf-released; the default placement
// is lwf-1.
Result<IterationPolicy> parse_iteration_policy(std::string_view text);

enum class Phase : std::uint8_t { kForward, kBackward, kDone };

// Something that took time: a phase on a GPU or, without a GPU, an all-reduce.
struct IterationRecord {
  JobId job;
  GpuId gpu;
  Phase phase = Phase::kDone;
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  friend bool operator==(const IterationRecord&, const IterationRecord&) = default;
};

struct IterationOutcome {
  IdVector<JobId, std::vector<GpuId>> gpus;
  IdVector<JobId, std::int64_t> placed_ns;
  IdVector<JobId, std::int64_t> finish_ns;
  std::int64_t computing_ns = 0;  // over all GPUs
  std::int64_t transfer_ns = 0;   // sum over nodes of the time with one all-reduce or more
  std::int64_t shared_ns = 0;     // sum over nodes of the time with two
};

struct IterationWorld {
  const Cluster& cluster;  // only its nodes, and how many GPUs each has
  std::int64_t gpu_memory_mb = 0;
  TransferCost cost;
};

// Runs all jobs to their ends. `seed` matters for the placement "random". `log`, if not null, receives a record of each
// phase and all-reduce, by end. Errors: a job that does not fit into the empty cluster, a time or size of 0 or less, or
// more than 100 years of work.
Result<IterationOutcome> simulate_iterations(const IterationWorld& world,
                                             std::span<const IterationJob> jobs,
                                             const IterationPolicy& policy, std::uint64_t seed,
                                             std::vector<IterationRecord>* log = nullptr);

}  // namespace fairlead
