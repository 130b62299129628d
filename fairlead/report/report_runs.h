// The runs in a folder, for `fairlead report`. The folder is the result folder of one run, the folder of `compare`,
// with or without seeds and sweeps, or any folder of result folders (from `reproduce`).
#pragma once

#include "fairlead/base/result.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace fairlead {

struct ReportedRun {
  std::string folder;  // relative to the reported one; "." for itself
  std::string label;   // its policy's name there
};

struct ReportedRuns {
  std::vector<ReportedRun> runs;  // compare's in its order, otherwise by name
  // JSON of the results of `compare` for several seeds or points of a sweep: {"points": [...]}, each with the mean,
  // least and greatest of every figure of each policy (web/src/schema.ts); empty for one seed and no sweep.
  std::string points;
  // JSON of the sentences in compare.json, a list; for a sweep the list of its first point. Empty if there are none.
  std::string answer = {};
  std::string first_point;  // folder of the sweep's point to which `runs` belong; empty: no sweep
  std::int64_t seeds_left_out = 0;
};

// Takes the smallest of several seeds of a policy, and the runs of the first point of a sweep. Errors: no such folder,
// or no run in it.
Result<ReportedRuns> find_runs(const std::filesystem::path& folder);

}  // namespace fairlead
