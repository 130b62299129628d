#include "fairlead/experiment/verdict.h"

#include "fairlead/base/check.h"
#include "fairlead/compare/spread.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace fairlead {
namespace {

// Figures are rounded to nine decimals in files, so equal ones may differ by this.
constexpr double kSlack = 1e-9;

// The wanted width of an interval on each side, relative to the larger of mean and expected value.
constexpr double kHalfWidth = 0.05;

// Returns the distance by which a value misses the claim.
double excess(const PublishedClaim& claim, double value, double expected) {
  switch (claim.bound) {
    case Bound::kAtLeast:
      return expected - value;
    case Bound::kAtMost:
      return value - expected;
    case Bound::kEqual:
    case Bound::kFluid:
      return std::abs(value - expected) -
             std::max(claim.tolerance, claim.tolerance_percent / 100 * std::abs(expected));
    case Bound::kNone:
    case Bound::kText:
      break;
  }
  return 0;
}

Verdict verdict_on(const PublishedClaim& claim, const std::vector<double>& values, double expected,
                   std::optional<double> possible) {
  const MeanInterval interval = mean_interval(values);
  const double worst =
      std::max(excess(claim, interval.low, expected), excess(claim, interval.high, expected));
  if (worst <= kSlack) return Verdict::kReached;
  if (possible && excess(claim, *possible, expected) > kSlack) return Verdict::kImpossible;
  const double nearest = std::clamp(expected, interval.low, interval.high);
  return excess(claim, nearest, expected) <= kSlack ? Verdict::kUndecided : Verdict::kMissed;
}

}  // namespace

std::string_view verdict_name(Verdict verdict) {
  constexpr std::string_view kNames[] = {"reached",  "not reached", "undecided", "no policy can",
                                         "measured", "skipped",     "failed"};
  return kNames[static_cast<std::size_t>(verdict)];
}

Judgement judge(const PublishedClaim& claim, std::vector<double> values,
                std::optional<double> expected, std::optional<double> possible) {
  FL_CHECK(!values.empty());
  Judgement outcome;
  outcome.expected = expected;
  if (claim.bound != Bound::kNone && expected) {
    outcome.possible = possible;
    outcome.verdict = verdict_on(claim, values, *expected, possible);
  }
  outcome.values = std::move(values);
  return outcome;
}

Judgement judge_text(const PublishedClaim& claim, std::string text) {
  Judgement outcome;
  if (claim.bound == Bound::kText) {
    outcome.verdict = text == claim.expected_text ? Verdict::kReached : Verdict::kMissed;
  }
  outcome.text = std::move(text);
  return outcome;
}

std::size_t seeds_needed(const Judgement& judgement) {
  const std::size_t present = judgement.values.size();
  if (!judgement.expected || present < kIntervalSeedsMin) return present;
  const MeanInterval interval = mean_interval(judgement.values);
  const double wanted =
      kHalfWidth * std::max(std::abs(interval.mean), std::abs(*judgement.expected));
  const double half = (interval.high - interval.low) / 2;
  if (half <= wanted) return present;
  // The width falls with the root of the number of seeds.
  const double needed = std::ceil(static_cast<double>(present) * (half / wanted) * (half / wanted));
  return needed < static_cast<double>(kSeedsMax) ? static_cast<std::size_t>(needed)
                                                 : std::max(present, kSeedsMax);
}

}  // namespace fairlead
