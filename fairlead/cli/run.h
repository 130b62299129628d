// One simulated run from its inputs to its result files.
#pragma once

#include "fairlead/base/result.h"
#include "fairlead/compare/run_flags.h"
#include "fairlead/metrics/summary.h"
#include "fairlead/run/simulation.h"

namespace fairlead {

struct RunOutcome {
  Summary summary;
  double wall_s = 0;
};

struct RunOutputs {
  std::filesystem::path folder;
  std::string inputs_hash = {};  // for run.json
  std::string command = {};      // the same
  bool audit = false;
  bool only_summary = false;  // no journal, and of the results only summary.json and run.json
};

// Reads the inputs, runs, and writes the result files and journal.flj, or only the summary, to config.out. An earlier run's files stay until
// all new ones are written; an error leaves no new files. Shows a progress bar if standard error is a terminal.
Result<RunOutcome> run_simulation(const RunConfig& config);
// The same with inputs that were read.
Result<RunOutcome> run_simulation(SimulationInputs inputs, const RunOutputs& outputs);

}  // namespace fairlead
