// Published experiments with jobs that share GPUs and are simulated iteration by iteration (iteration/sim.h): they have
// `iterations` instead of `workload`.
//
//   iterations:
//     jobs: 160                            # divided among the sizes by weight
//     gangs: {1: 40, 2: 7, 4: 13, 8: 15, 16: 4, 32: 1}   # GPUs and weight
//     iterations: [1000, 6000]             # of a job, uniform
//     submit_span_s: 1200                  # submissions are uniform over it
//     gpu_memory_mb: 32768
//     transfer_ms_per_mb: 0.856            # of an all-reduce alone
//     penalty_ms_per_mb: 0.235             # more for each other one on its busiest node
//     models:                              # equally likely; all of it required
//       - {name: VGG-16, size_mb: 526.4, forward_ms: 36, backward_ms: 54, memory_mb: 4527}
//
// Values shown are defaults. The policies are those accepted by parse_iteration_policy. Only the nodes of the cluster
// matter, and their numbers of GPUs. The figures are `summary` and `summary_h`. The summary of a run has jct_avg_s,
// makespan_s, and queue_avg_s (from submission to placement). It also has fractions of all time from 0 to the last
// finish: gpu_busy, of GPUs that compute; network_busy and network_shared, of nodes with one all-reduce or more, and
// with two.
#pragma once

#include "fairlead/base/result.h"
#include "fairlead/experiment/experiment.h"
#include "fairlead/experiment/figures.h"
#include "fairlead/metrics/figures.h"

#include <span>
#include <string_view>
#include <vector>

namespace fairlead {

// A figure in the summary of such a run.
struct IterationFigure {
  std::string_view key;
  FigureUnit unit;
};
std::span<const IterationFigure> iteration_figures();

// Errors give the position.
Result<IterationOptions> read_iterations(const YamlNode& map);

// Returns the runs of an experiment with iterations: by seed, then case, then policy.
std::vector<Result<RunFigures>> run_iterations(const Experiment& experiment,
                                               std::span<const std::uint64_t> seeds);

}  // namespace fairlead
