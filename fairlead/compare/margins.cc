#include "fairlead/compare/margins.h"

#include "fairlead/compare/policy_figures.h"
#include "fairlead/compare/recorded_text.h"
#include "fairlead/compare/spread.h"
#include "fairlead/report/json.h"
#include "fairlead/trace/resample.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace fairlead {
namespace {

using nlohmann::json;

std::vector<double> resampled_values(const ComparedPolicy& policy, const Figure& figure) {
  std::vector<double> values;
  for (const auto& [seed, value] : by_seed(policy.resamples, figure)) values.push_back(value);
  return values;
}

json difference_json(const ComparedPolicy& policy, const ComparedPolicy& base,
                     const Figure& figure) {
  const auto difference = resampled_difference(policy, base, figure);
  if (!difference) return {};
  return {{"value", difference->value},
          {"margin", difference->margin},
          {"n", difference->n},
          {"less_in", difference->less_in},
          {"more_in", difference->more_in}};
}

// "weeks", if the resamples have as many days as one.
std::string resamples_name(const Resampling& resampling) {
  constexpr std::int64_t kWeek = 7, kMonthMin = 28, kMonthMax = 31;
  if (resampling.days == kWeek) return "weeks";
  if (resampling.days >= kMonthMin && resampling.days <= kMonthMax) return "months";
  return fmt::format("traces of {} days", resampling.days);
}

std::string length_of(const Figure& figure, double s, TimeUnits units) {
  return cell_of(figure, s, units) + (units == TimeUnits::kHuman ? "" : " s");
}

// "fairlead waits 3 h 31 min ± 1 h less than slurm in the mean, less in 20 of 20 resampled weeks."
std::string wait_text(const ComparedPolicy& policy, const ComparedPolicy& base,
                      const Resampling& resampling, TimeUnits units) {
  const Figure& wait = *find_figure("queue_avg_s");
  const auto difference = resampled_difference(policy, base, wait);
  if (!difference) return {};
  const bool is_longer = difference->value > 0;
  const std::string_view word = is_longer ? "longer" : "less";
  std::string text =
      fmt::format("{} waits {} ± {} {} than {} in the mean, {} in {} of {} resampled {}.",
                  policy.policy, length_of(wait, std::abs(difference->value), units),
                  length_of(wait, difference->margin, units), word, base.policy, word,
                  is_longer ? difference->more_in : difference->less_in, difference->n,
                  resamples_name(resampling));
  if (!difference->is_clear()) text += " The trace does not distinguish them.";
  return text;
}

// "Shortest mean wait: fairlead, 36 min ± 12 min." Empty if fewer than two policies can be compared.
std::string best_text(const std::vector<const ComparedPolicy*>& alike, TimeUnits units) {
  const Figure& wait = *find_figure("queue_avg_s");
  const ComparedPolicy* best = nullptr;
  double least_s = 0;
  std::size_t known = 0;
  for (const ComparedPolicy* policy : alike) {
    const auto range = range_over_seeds(*policy, wait);
    if (!range || is_as_recorded(policy->policy)) continue;
    if (known++ > 0 && range->mean >= least_s) continue;
    best = policy;
    least_s = range->mean;
  }
  if (known < 2) return {};
  const auto margin = margin_of(*best, wait);
  return fmt::format("Shortest mean wait: {}, {}{}.", best->policy, length_of(wait, least_s, units),
                     margin ? " ± " + length_of(wait, *margin, units) : "");
}

}  // namespace

bool has_resamples(std::string_view policy) { return !is_as_recorded(policy); }

std::optional<double> margin_of(const ComparedPolicy& policy, const Figure& figure) {
  const std::vector<double> values = resampled_values(policy, figure);
  if (values.size() < 2 || figure.unit == FigureUnit::kCount) return std::nullopt;
  return resampled_margin(values);
}

std::optional<ResampledDifference> resampled_difference(const ComparedPolicy& policy,
                                                        const ComparedPolicy& base,
                                                        const Figure& figure) {
  const auto here = range_over_seeds(policy, figure);
  const auto there = range_over_seeds(base, figure);
  const std::vector<double> values = differences_of(policy.resamples, base.resamples, figure);
  if (!here || !there || values.size() < 2) return std::nullopt;
  return ResampledDifference{.value = here->mean - there->mean,
                             .margin = resampled_margin(values),
                             .n = values.size(),
                             .less_in = static_cast<std::uint64_t>(std::ranges::count_if(
                                 values, [](double value) { return value < 0; })),
                             .more_in = static_cast<std::uint64_t>(std::ranges::count_if(
                                 values, [](double value) { return value > 0; }))};
}

const ComparedPolicy* resampled_base(const ComparedPoint& point) {
  const auto found = std::ranges::find_if(point.policies, [](const ComparedPolicy& one) {
    return !one.summaries.empty() && !one.resamples.empty();
  });
  return found == point.policies.end() ? nullptr : &*found;
}

json resampled_json(const ComparedPoint& point, const ComparedPolicy& policy) {
  json margins = json::object();
  json values = json::object();
  json differences = json::object();
  const ComparedPolicy* base = resampled_base(point);
  for (const Figure& figure : compared_figures()) {
    const auto margin = margin_of(policy, figure);
    figure_at(margins, figure) = margin ? json(*margin) : json();
    figure_at(values, figure) = resampled_values(policy, figure);
    figure_at(differences, figure) = json();
    if (base != nullptr) figure_at(differences, figure) = difference_json(policy, *base, figure);
  }
  return {{"margin", margins},
          {"values", values},
          {"base", base == nullptr ? json() : json(base->policy)},
          {"difference_to_base", differences}};
}

std::vector<std::string> answer_lines(const ComparedPoint& point, const Resampling& resampling,
                                      TimeUnits units) {
  const std::vector<const ComparedPolicy*> alike = comparable(point);
  const ComparedPolicy* base = resampled_base(point);
  std::vector<std::string> lines;
  const auto add = [&](std::string line) {
    if (!line.empty()) lines.push_back(std::move(line));
  };
  add(best_text(alike, units));
  if (std::ranges::find(alike, base) == alike.end()) return lines;
  for (const ComparedPolicy* policy : alike) {
    if (policy != base) add(wait_text(*policy, *base, resampling, units));
  }
  return lines;
}

std::string margin_meaning(const Resampling& resampling, std::uint64_t seeds) {
  if (!resampling.refused.empty()) return fmt::format("No margin: {}", resampling.refused);
  if (resampling.resamples == 0) {
    if (seeds > 1) return {};
    return fmt::format("One run, no margin: a trace of {} days or more has one with --resample {}.",
                       kResampledDaysMin, kResamplesMin);
  }
  return fmt::format(
      "± 95 % margin: from {} traces of {} days, drawn from the trace in blocks of {}",
      resampling.resamples, resampling.days,
      resampling.block_days == 1 ? "a day" : fmt::format("{} days", resampling.block_days));
}

std::string margins_text(const Comparison& comparison, TimeUnits units) {
  const std::string meaning = margin_meaning(comparison.resampling, comparison.seeds);
  std::string text = meaning.empty() ? "" : meaning + "\n";
  if (comparison.resampling.resamples == 0) return text;
  text += '\n';
  for (const ComparedPoint& point : comparison.points) {
    const auto lines = answer_lines(point, comparison.resampling, units);
    if (!lines.empty()) text += fmt::format("{}{}\n", heading_of(point), fmt::join(lines, "\n"));
  }
  return text;
}

}  // namespace fairlead
