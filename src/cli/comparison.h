// What several runs of one trace have to say side by side: compare.json and its table.
#pragma once

#include "report/table.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace fairlead {

struct ComparedPolicy {
  std::string policy;
  std::string folder;
  std::vector<nlohmann::json> summaries;  // summary.json of each seed that ran
};

struct FailedRun {
  std::string policy;
  std::uint64_t seed = 0;
  int exit_code = 0;
  std::string message;
};

struct Comparison {
  std::vector<ComparedPolicy> policies;
  std::vector<FailedRun> failures;
};

// Users are left out: they are in each run's own summary.json.
std::string comparison_json(const Comparison& comparison);
// A row per policy with means over its seeds; policies without any run are left out.
std::string comparison_text(const Comparison& comparison, TextStyle style);

}  // namespace fairlead
