// What `fairlead report` shows: which runs a folder has, be it the result folder of one run, the
// folder of `compare`, with or without seeds and sweeps, or any folder of result folders (those of
// `reproduce`).
#pragma once

#include "fairlead/base/result.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace fairlead {

struct ReportedRun {
  std::string folder;  // relative to the reported one; "." for itself
  std::string label;   // as its policy is called there
};

struct ReportedRuns {
  std::vector<ReportedRun> runs;  // compare's in its order, else by name
  // JSON of what `compare` made of several seeds or points of a sweep: {"points": [...]}, each with
  // the mean, least and greatest of every figure of each policy (web/src/schema.ts); empty if there
  // was one seed and no sweep.
  std::string points;
  std::string first_point;  // folder of the point of a sweep that `runs` are of; empty: no sweep
  std::int64_t seeds_left_out = 0;
};

// Of several seeds of a policy it takes the smallest, and of a sweep the runs of the first point.
// Errors: no such folder, or no run in it.
Result<ReportedRuns> find_runs(const std::filesystem::path& folder);

}  // namespace fairlead
