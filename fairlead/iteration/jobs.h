// Jobs that are simulated iteration by iteration, and how such jobs are drawn (Wang et al., arXiv
// 2002.10105).
//
// An iteration of a job is a forward and then a backward phase on each of its GPUs. If these are on several nodes, one
// all-reduce of the model between the nodes follows.
//
// Units: times are whole nanoseconds and sizes whole kB, so that all sums are exact; MB are 10^6
// bytes, and a ns per kB is a microsecond per MB.
#pragma once

#include "fairlead/base/result.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace fairlead {

constexpr std::int64_t kNsPerMs = 1'000'000;

struct IterationModel {
  std::string name;
  std::int64_t size_kb = 0;  // size of one all-reduce, kB
  std::int64_t forward_ns = 0;
  std::int64_t backward_ns = 0;
  std::int64_t memory_mb = 0;  // on each GPU
};

// How long an all-reduce takes per kB, as measured on 10 Gbit/s Ethernet in section 3 of the paper.
struct TransferCost {
  std::int64_t alone_ns = 856;    // b
  std::int64_t penalty_ns = 235;  // eta: added for each other all-reduce on its busiest node

  // Duration for each of two that share a node.
  std::int64_t shared_ns() const { return 2 * alone_ns + penalty_ns; }
};

// The distribution of the drawn jobs, and the cluster's properties.
struct IterationOptions {
  std::int64_t jobs = 160;
  // GPUs and weight. The number of jobs of each size is exactly in proportion to the weights.
  std::vector<std::pair<std::int64_t, std::int64_t>> gangs = {{1, 40}, {2, 7},  {4, 13},
                                                              {8, 15}, {16, 4}, {32, 1}};
  // Uniform, both ends included.
  std::int64_t iterations_min = 1000;
  std::int64_t iterations_max = 6000;
  // Submissions are uniform in whole milliseconds from 0, the end excluded.
  std::int64_t submit_span_ms = 1'200'000;
  std::vector<IterationModel> models{};  // equally likely
  std::int64_t gpu_memory_mb = 32'768;
  TransferCost cost{};
};

struct IterationJob {
  IterationModel model;
  std::size_t gpus = 1;
  std::int64_t iterations = 1;
  std::int64_t submit_ns = 0;
};

// Returns the jobs, by size. Equal options and seed give equal jobs. Errors: no models, or the number of jobs is not
// divisible by the weights.
Result<std::vector<IterationJob>> draw_iteration_jobs(const IterationOptions& options,
                                                      std::uint64_t seed);

}  // namespace fairlead
