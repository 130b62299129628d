// Published experiments whose jobs share GPUs and are simulated iteration by iteration
// (iteration/sim.h): an experiment that has `iterations` instead of `workload`.
//
//   iterations:
//     jobs: 160                            # as many of each size as the weights say
//     gangs: {1: 40, 2: 7, 4: 13, 8: 15, 16: 4, 32: 1}   # GPUs and weight
//     iterations: [1000, 6000]             # of a job, uniform
//     submit_span_s: 1200                  # submissions are uniform over it
//     gpu_memory_mb: 32768
//     transfer_ms_per_mb: 0.856            # of an all-reduce alone
//     penalty_ms_per_mb: 0.235             # more for each other one on its busiest node
//     models:                              # equally likely; all of it required
//       - {name: VGG-16, size_mb: 526.4, forward_ms: 36, backward_ms: 54, memory_mb: 4527}
//
// Values shown are defaults. Its policies are those of parse_iteration_policy; of the cluster only
// the nodes matter, and how many GPUs each has. Its figures are `summary` and `summary_h`; the
// summary of a run has jct_avg_s, makespan_s, queue_avg_s (from submission to placement) and, as
// fractions of all time from 0 to the last finish: gpu_busy, of GPUs that compute; network_busy and
// network_shared, of nodes with one all-reduce or more, and with two.
#pragma once

#include "fairlead/base/result.h"
#include "fairlead/experiment/experiment.h"
#include "fairlead/experiment/figures.h"
#include "fairlead/metrics/figures.h"

#include <span>
#include <string_view>
#include <vector>

namespace fairlead {

// What the summary of such a run has.
struct IterationFigure {
  std::string_view key;
  FigureUnit unit;
};
std::span<const IterationFigure> iteration_figures();

// Errors say where.
Result<IterationOptions> read_iterations(const YamlNode& map);

// The runs of an experiment that has iterations: by case, then policy, then seed.
std::vector<Result<RunFigures>> run_iterations(const Experiment& experiment);

}  // namespace fairlead
