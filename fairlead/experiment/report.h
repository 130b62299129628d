// The results of published experiments as a table, JSON and page.
#pragma once

#include "fairlead/experiment/experiment.h"
#include "fairlead/experiment/verdict.h"
#include "fairlead/report/table.h"

#include <cstdint>
#include <string>
#include <vector>

namespace fairlead {

struct ExperimentResult {
  Experiment experiment;
  std::vector<std::uint64_t> seeds;  // all seeds; a policy may have runs with some of them
  std::size_t first_seeds = 0;       // number of seeds that all policies run with
  // By claim, then case. A claim over all cases has one more outcome, which is judged.
  std::vector<std::vector<Judgement>> outcomes;
};

// reproduction.json.
std::string results_json(const std::vector<ExperimentResult>& results);
// Returns a heading and a row per claim; with cases, a row per case and a column per claim, or the other way round if
// there are fewer cases than claims. The measures follow, a row per case and policy.
std::string result_text(const ExperimentResult& result, TextStyle style);
// Returns the page docs/reproduction.md from the results of all experiments.
std::string results_page(const std::vector<ExperimentResult>& results);

}  // namespace fairlead
