#include "fairlead/compare/policy_figures.h"

#include "fairlead/compare/recorded_text.h"
#include "fairlead/report/json.h"
#include "fairlead/report/table.h"

#include <algorithm>
#include <iterator>

namespace fairlead {

using nlohmann::json;

BySeed by_seed(const std::vector<json>& summaries, const Figure& figure) {
  BySeed values;
  for (const json& summary : summaries) {
    const auto seed = summary.value("seed", std::uint64_t{0});
    if (const auto value = figure_in(summary, figure)) values[seed] = *value;
  }
  return values;
}

std::optional<Range> range_over_seeds(const ComparedPolicy& policy, const Figure& figure) {
  std::vector<double> values;
  for (const auto& [seed, value] : by_seed(policy.summaries, figure)) values.push_back(value);
  return values.empty() ? std::nullopt : std::optional(range_of(values));
}

std::vector<double> differences_of(const std::vector<json>& of, const std::vector<json>& to,
                                   const Figure& figure) {
  const BySeed values = by_seed(to, figure);
  std::vector<double> differences;
  for (const auto& [seed, value] : by_seed(of, figure)) {
    const auto found = values.find(seed);
    if (found != values.end()) differences.push_back(value - found->second);
  }
  return differences;
}

std::vector<Figure> compared_figures() {
  std::vector<Figure> figures;
  std::ranges::copy_if(run_figures(), std::back_inserter(figures), &Figure::is_compared);
  return figures;
}

std::vector<const ComparedPolicy*> comparable(const ComparedPoint& point) {
  const Figure& finished = *find_figure("finished");
  std::vector<const ComparedPolicy*> policies;
  double most = 0;
  for (const ComparedPolicy& policy : point.policies) {
    const auto range = range_over_seeds(policy, finished);
    if (!range || range->mean < most || has_nothing_recorded(policy)) continue;
    if (range->mean > most) policies.clear();
    most = range->mean;
    policies.push_back(&policy);
  }
  return policies;
}

std::string cell_of(const Figure& figure, double value, TimeUnits units) {
  switch (figure.unit) {
    case FigureUnit::kCount:
      return number_text(value, 0);
    case FigureUnit::kSeconds:
      return units == TimeUnits::kHuman ? length_text(value) : number_text(value, 1);
    case FigureUnit::kGpuHours:
    case FigureUnit::kKwh:
    case FigureUnit::kMoney:
      return number_text(value, 1);
    case FigureUnit::kFraction:
      return percent_text(value);
    case FigureUnit::kRatio:
      break;
  }
  return number_text(value, 3);
}

}  // namespace fairlead
