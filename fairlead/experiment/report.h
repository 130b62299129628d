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
  kTied,  // missed by the mean of the seeds, but the expected value lies between least and most
  kMissed,
  kImpossible,  // missed, and proven to be out of reach of any policy
  kMeasured,    // nothing was expected
  kSkipped,     // not measurable here, for example without a public trace
  kFailed,      // a run failed
};
std::string_view verdict_name(Verdict verdict);

// One claim in one case.
struct Judgement {
  Verdict verdict = Verdict::kMeasured;
  std::vector<double> values;  // by seed; empty for texts, which are of the first seed
  std::string text;
  std::vector<std::string> where;  // places of the largest values, by seed; only in the JSON
  std::optional<double> expected;  // none: only measured, or not bounded by a number
  std::optional<double> possible;  // the mean of Value::possible over the seeds
  std::string reason;              // why it was skipped or failed
};

// Returns the verdict on values, of which there is at least one. `expected`: the bound in this case, if any;
// `possible`: the best value that any policy could reach, if known.
Judgement judge(const PublishedClaim& claim, std::vector<double> values,
                std::optional<double> expected, std::optional<double> possible = std::nullopt);
Judgement judge_text(const PublishedClaim& claim, std::string text);

struct ExperimentResult {
  Experiment experiment;
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
