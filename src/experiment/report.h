// The results of published experiments: verdicts, and their table, JSON and page.
#pragma once

#include "fairlead/experiment/experiment.h"
#include "fairlead/report/table.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace fairlead {

enum class Verdict : std::uint8_t {
  kReached,
  kMissed,
  kMeasured,  // nothing was expected
  kSkipped,   // it cannot be measured here, such as without a public trace
  kFailed,    // a run failed
};
std::string_view verdict_name(Verdict verdict);

// One claim in one case.
struct Outcome {
  Verdict verdict = Verdict::kMeasured;
  std::vector<double> values;  // by seed; empty for texts, which are of the first seed
  std::string text;
  std::vector<std::string> where;  // the values were largest, by seed; only in the JSON
  std::optional<double> expected;  // none: only measured, or not bounded by a number
  std::string reason;              // why it was skipped or failed
};

// The verdict on values of which there is at least one. `expected`: the bound in this case, if any.
Outcome judge(const PublishedClaim& claim, std::vector<double> values,
              std::optional<double> expected);
Outcome judge_text(const PublishedClaim& claim, std::string text);

struct ExperimentResult {
  Experiment experiment;
  std::vector<std::vector<Outcome>> outcomes;  // by claim, then case
};

// reproduction.json.
std::string results_json(const std::vector<ExperimentResult>& results);
// A heading and a row per claim; with cases, a row per case and a column per claim, or the other
// way round if there are fewer cases than claims. Then the measures, a row per case and policy.
std::string result_text(const ExperimentResult& result, TextStyle style);
// The page docs/reproduction.md, from the results of all experiments.
std::string results_page(const std::vector<ExperimentResult>& results);

}  // namespace fairlead
