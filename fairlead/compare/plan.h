// The planned runs of a comparison, and the already complete ones among them.
#pragma once

#include "fairlead/compare/child_runs.h"
#include "fairlead/compare/comparison.h"
#include "fairlead/compare/run_flags.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace fairlead {

struct CompareFlags : RunFlags {
  std::vector<std::string>
      clusters;          // each is compared, and `cluster` has no effect; none: `cluster`
  std::string policies;  // separated by ';'
  std::uint64_t seeds = 1;
  std::uint64_t resamples = 0;  // 0: none; not with several seeds
  std::vector<std::string> sweeps;
  bool again = false;  // make every run, even if it is complete
};

struct PlannedRun {
  std::size_t point = 0;   // row in Comparison::points ...
  std::size_t policy = 0;  // ... and in its policies
  std::uint64_t seed = 0;
  std::filesystem::path folder;
  bool is_resample = false;
  bool complete = false;  // its folder has the results of exactly this run
  ChildRun child;
};
constexpr std::size_t kPlannedRunsMax = 100'000;

struct ComparePlan {
  Comparison comparison;         // without summaries and failures yet
  std::vector<PlannedRun> runs;  // point by point, policy by policy, seed by seed; then resamples
};

// Checks everything about the flags that needs no run; errors name the flag. Reads each input file of the runs once, and
// the trace again for resamples. The runs of resamples have the seeds after flags.seed.
Result<ComparePlan> plan_comparison(const CompareFlags& flags);

// Folders of complete results below `out`, relative to it and sorted, that are not part of the
// plan.
std::vector<std::string> other_results(const std::filesystem::path& out, const ComparePlan& plan);

}  // namespace fairlead
