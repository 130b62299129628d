// Verdicts on claims: by the 95 % interval of a figure's mean over the seeds.
#pragma once

#include "fairlead/experiment/experiment.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fairlead {

enum class Verdict : std::uint8_t {
  kReached,     // the whole interval meets the claim
  kMissed,      // no value in the interval meets it
  kUndecided,   // some values in the interval meet it
  kImpossible,  // not reached, and proven to be out of reach of any policy
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

// Returns the verdict on values, of which there is at least one. Two policies are compared seed by seed, because each
// value is already the ratio of a seed. Equal values, or a single one, are their own interval. `expected`: the bound in
// this case, if any; `possible`: the best value that any policy could reach, if known.
Judgement judge(const PublishedClaim& claim, std::vector<double> values,
                std::optional<double> expected, std::optional<double> possible = std::nullopt);
Judgement judge_text(const PublishedClaim& claim, std::string text);

constexpr std::size_t kSeedsMax = 20;

// Returns how many seeds narrow the interval to 5 % on both sides of the mean, or of the expected value if that is
// larger; at most kSeedsMax, at least the present ones. By the variance of the present seeds (Stein, A two-sample test
// for a linear hypothesis, 1945), whatever the verdict is. Claims that expect no number need no more seeds.
std::size_t seeds_needed(const Judgement& judgement);

}  // namespace fairlead
