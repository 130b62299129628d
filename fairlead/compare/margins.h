// Margins of a comparison: the spread of its figures and differences between traces like this one.
//
// Each policy also ran on resamples of the trace (trace/resample.h), with the seeds after its own. The same resample is
// the same trace for all policies, so their differences are paired. A margin is resampled_margin() of those figures
// (compare/spread.h), and stands around the figure of the trace itself.
#pragma once

#include "fairlead/base/time_text.h"
#include "fairlead/compare/comparison.h"
#include "fairlead/metrics/figures.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fairlead {

// The share of resamples that a margin covers is 19 in 20, which fewer of them cannot show.
constexpr std::uint64_t kResamplesMin = 20;

// True for a policy that repeats the recorded starts, which a resample does not have.
bool has_resamples(std::string_view policy);

// None: fewer than two resamples have the figure, or it is a count.
std::optional<double> margin_of(const ComparedPolicy& policy, const Figure& figure);

// The difference between the figures of two policies on the same trace.
struct ResampledDifference {
  double value = 0;           // on the trace itself
  double margin = 0;          // of `value`
  std::uint64_t n = 0;        // resamples of both
  std::uint64_t less_in = 0;  // resamples in which the policy has less
  std::uint64_t more_in = 0;
  // Returns whether 19 of 20 resamples have the sign of `value`. Counts need no symmetry, unlike the margin: in a busy
  // period waits differ by much more.
  bool is_clear() const { return 20 * (value > 0 ? more_in : less_in) >= 19 * n; }
};
// None: one of them lacks the figure, or both have it in fewer than two common resamples.
std::optional<ResampledDifference> resampled_difference(const ComparedPolicy& policy,
                                                        const ComparedPolicy& base,
                                                        const Figure& figure);

// Returns the policy to which others of the point are compared: the first with a run and resamples. Null if there is none.
const ComparedPolicy* resampled_base(const ComparedPoint& point);

// Returns a policy's part of compare.json: the margin of each figure, its values in the resamples, and the differences
// to resampled_base().
nlohmann::json resampled_json(const ComparedPoint& point, const ComparedPolicy& policy);

// Returns the answer in sentences: the policy with the shortest mean wait, and with resamples the difference of each
// other mean wait to resampled_base(). Policies that finished fewer jobs than others are left out.
std::vector<std::string> answer_lines(const ComparedPoint& point, const Resampling& resampling,
                                      TimeUnits units);

// Returns a sentence on what ± is. Without resamples: that there is no margin, and why; nothing if there are several
// seeds.
std::string margin_meaning(const Resampling& resampling, std::uint64_t seeds);

// Returns the lines below the table: the meaning of ±, and with resamples the answer at each point.
std::string margins_text(const Comparison& comparison, TimeUnits units);

}  // namespace fairlead
