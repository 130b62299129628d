// The runs of an experiment in child processes, and the verdicts on its claims.
#pragma once

#include "fairlead/base/result.h"
#include "fairlead/compare/child_runs.h"
#include "fairlead/experiment/report.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <vector>

namespace fairlead {

struct ExperimentRun {
  ExperimentResult result;
  std::vector<std::filesystem::path> folders;  // folders of the cases that have results
};

// Returns the observer of that many runs, before they start.
using ObserveRuns = std::function<std::unique_ptr<ChildObserver>(std::size_t runs)>;

// Runs all policies in all cases, in result folders below OUT/NAME as docs/formats.md lists them. Keeps runs that are
// there already with the same inputs (compare/run_inputs.h). If `seeds` is empty, these are the experiment's. Policies
// whose judged figure has a wide interval in a case then run there with more (seeds_needed). Errors: a trace or folder cannot be written, or no
// process be started. A run that fails is a verdict.
Result<ExperimentRun> run_experiment(const Experiment& experiment, const std::filesystem::path& out,
                                     std::vector<std::uint64_t> seeds, const ObserveRuns& observe);

// Returns the experiment with the jobs of a file instead of its own. If cases then differ in
// nothing, the first stays. Errors: the file does not exist, or the experiment has no trace to replace.
Result<Experiment> with_trace(Experiment experiment, const std::filesystem::path& trace);

}  // namespace fairlead
