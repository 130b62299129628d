// The figures of several runs side by side: compare.json, its table, runs.csv and runs.jsonl.
#pragma once

#include "fairlead/base/time_text.h"
#include "fairlead/report/result_files.h"
#include "fairlead/report/table.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace fairlead {

struct ComparedPolicy {
  std::string policy;
  std::string folder;  // below the point's
  // summary.json of each seed that ran, in order of the seeds
  std::vector<nlohmann::json> summaries = {};
  // the same of each resample of the trace that ran (trace/resample.h), in order
  std::vector<nlohmann::json> resamples = {};
};

struct FailedRun {
  std::string policy;
  std::uint64_t seed = 0;
  int exit_code = 0;
  std::string message;
};

// Policies on one trace under the same conditions.
struct ComparedPoint {
  std::vector<std::pair<std::string, std::string>> values = {};  // values of the sweeps, as text
  std::string folder = {};                                       // below the comparison's
  std::vector<ComparedPolicy> policies = {};
  std::vector<FailedRun> failures = {};
};

// How the trace was resampled.
struct Resampling {
  std::uint64_t resamples = 0;  // number for each policy; 0: none
  std::int64_t days = 0;        // length of the trace
  std::int64_t block_days = 0;  // length of a block
  std::string refused = {};     // the reason if resamples were asked for, and the trace has none
};

struct Comparison {
  std::uint64_t seeds = 1;  // number of runs of each policy
  Resampling resampling = {};
  std::vector<ComparedPoint> points;  // one without values, if nothing is swept
};

// Returns the folder of one run's results, below the comparison's folder.
std::filesystem::path run_folder(const ComparedPoint& point, const ComparedPolicy& policy,
                                 std::uint64_t seed, std::uint64_t seeds);
// The same for a resample, from 1.
std::filesystem::path resample_folder(const ComparedPoint& point, const ComparedPolicy& policy,
                                      std::uint64_t number);

// Returns "load=0.5 mtbf_h=24:\n", the heading of lines about the point; empty without a sweep.
std::string heading_of(const ComparedPoint& point);

// Returns a swept value as JSON: a number if the text is one, because plots need numbers.
nlohmann::json number_or_text(const std::string& text);

// Returns compare.json of one point. Users are left out: they are in each run's summary.json. With several seeds, also
// ranges, and differences to the first policy; with resamples also margins (compare/margins.h).
std::string comparison_json(const ComparedPoint& point, std::uint64_t seeds,
                            const Resampling& resampling = {});
// Returns compare.json: the JSON of the only point, or for a sweep a list of points.
std::string comparison_json(const Comparison& comparison);

// Returns a row per point and policy with means over its seeds; policies without any run are left out. With resamples,
// each figure has its margin, and lines about waits follow. With several seeds, there is also a table of ranges and of
// differences to the first policy. The best means of a point are marked. If there are several policies, a last row has
// the bounds for any policy.
std::string comparison_text(const Comparison& comparison, TextStyle style,
                            TimeUnits units = TimeUnits::kHuman);

// Adds runs.csv and runs.jsonl: a row per point, policy and seed with every number and text of
// summary.json but the users and the counts by reason.
Status write_runs(const Comparison& comparison, ResultFolder& folder);

}  // namespace fairlead
