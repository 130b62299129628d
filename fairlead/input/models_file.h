// Reading speed tables: the built-in profiles, YAML files and Gavel's throughput table.
//
// Models YAML. Every key that is not marked required may be left out; unknown keys are errors.
//
//   source: where the figures come from     # else the file's name; printed by reports
//   models:                                 # required
//     - name: ResNet50                      # required
//       weight: 2                           # of random draws (draw_models); else 0: never drawn
//       rates:                              # required: per GPU and by GPU type, in any one unit
//         K80: 1                            # the same per GPU at every gang size
//         V100:                             # or by gang size, increasing
//           - {gpus: 1, consolidated: 5.14}
//           - {gpus: 4, consolidated: 4.9, spread: 3.1}   # on one node, across nodes
//         H200: {rate: 6, estimated: as the H100}   # a rate or rows, how they were estimated if they
//                                         # were, and their source if it differs from the table's
//       locality: {pair: 1, node: 1, rack: 0.8, spine: 0.4}  # factors where no spread was measured
//       communication: {bytes_mb: 99.2, compute_ms: 62, overlap: 0, exposed: 0, gpu_type: V100}
//                        # the first two required; compute_ms on one GPU of gpu_type, else of the
//                        # first of rates
//       costs: {start_s: 10, suspend_s: 1, resume_s: 5, checkpoint_s: 2, migrate_s: 30}
//
// A rate of 0 is infeasible (it does not fit the GPU's memory).
//
// A measured table is CSV with the columns model, gpu_type and samples_per_s, in any unit that is the same in all
// rows of a model: of the whole gang, not of a GPU. Optional columns: gpus (default 1), placement (node, or spread over
// nodes; default node), source, and estimated: the method, if it was estimated.
//
// Gavel's table (simulation_throughputs.json of Narayanan et al., OSDI 2020, as CSV) has the header
//   gpu_type,placement,job_type,scale_factor,colocated_job_type,colocated_scale_factor,
//   throughput_steps_per_s,colocated_throughput_steps_per_s
// Rows about two jobs on one GPU are left out; each model gets weight 1, as Gavel draws them.
#pragma once

#include "fairlead/base/file.h"
#include "fairlead/base/result.h"
#include "fairlead/model/speed.h"
#include "fairlead/model/workload.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fairlead {

// The seven models of the Gandiva_fair talk ("slides").
SpeedTable builtin_models();
// The tables that are part of the binary, by name.
std::vector<std::string> model_tables();

// `spec` is the name of a table that is part of the binary or the path of a file.
Result<SpeedTable> load_models(std::string_view spec);

// The formats by themselves. `file` names the text in errors.
Result<SpeedTable> parse_models_yaml(std::string_view text, std::string_view file);
bool is_gavel_table(std::string_view text);  // begins with Gavel's header
Result<SpeedTable> read_gavel_table(ByteSource& source);
bool is_measured_table(std::string_view text);  // its first line names the three columns
Result<SpeedTable> read_measured_table(ByteSource& source);

// The table of GPU types that is part of the binary (data/gpu_types.yaml):
//
//   source: where the factors come from
//   types: [{name: V100, factor: 0.3, source: default: the table's, estimated: how, if it was}]
GpuFactors builtin_gpu_factors();
Result<GpuFactors> parse_gpu_types_yaml(std::string_view text, std::string_view file);

// Gives each job without a model one of the table's, drawn by weight. The draws depend only on the seed and on the
// jobs' order. Does nothing if all weights are 0.
void draw_models(Workload& workload, const SpeedTable& table, std::uint64_t seed);

}  // namespace fairlead
