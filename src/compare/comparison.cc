#include "fairlead/compare/comparison.h"

#include "fairlead/base/parse.h"
#include "fairlead/compare/paired.h"
#include "fairlead/report/json.h"
#include "fairlead/report/summary_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <optional>

namespace fairlead {
namespace {

using nlohmann::json;

// A figure of the seeds that have it.
using BySeed = std::map<std::uint64_t, double>;

BySeed by_seed(const ComparedPolicy& policy, const Figure& figure) {
  BySeed values;
  for (const json& summary : policy.summaries) {
    const auto seed = summary.value("seed", std::uint64_t{0});
    if (const auto value = figure_in(summary, figure)) values[seed] = *value;
  }
  return values;
}

std::optional<Range> range_over_seeds(const ComparedPolicy& policy, const Figure& figure) {
  std::vector<double> values;
  for (const auto& [seed, value] : by_seed(policy, figure)) values.push_back(value);
  return values.empty() ? std::nullopt : std::optional(range_of(values));
}

// Of the seeds that both have, in order.
std::vector<double> differences_of(const ComparedPolicy& policy, const ComparedPolicy& base,
                                   const Figure& figure) {
  const BySeed of_base = by_seed(base, figure);
  std::vector<double> differences;
  for (const auto& [seed, value] : by_seed(policy, figure)) {
    const auto found = of_base.find(seed);
    if (found != of_base.end()) differences.push_back(value - found->second);
  }
  return differences;
}

// Those that are means, ranges and differences over the seeds.
std::vector<Figure> compared_figures() {
  std::vector<Figure> figures;
  std::ranges::copy_if(run_figures(), std::back_inserter(figures), &Figure::is_compared);
  return figures;
}

// True if there are several seeds and all give the same.
bool seeds_are_alike(const ComparedPolicy& policy) {
  std::vector<json> summaries = policy.summaries;
  for (json& summary : summaries) {
    summary.erase("seed");
    summary.erase("journal_hash");  // the journal names the seed
  }
  return summaries.size() > 1 &&
         std::ranges::all_of(summaries, [&](const json& one) { return one == summaries[0]; });
}

void add_ranges(const ComparedPolicy& policy, json& value) {
  for (const char* key : {"min", "max"}) value[key] = json::object();
  for (const Figure& figure : compared_figures()) {
    const auto range = range_over_seeds(policy, figure);
    figure_at(value["min"], figure) = range ? json(range->min) : json();
    figure_at(value["max"], figure) = range ? json(range->max) : json();
  }
}

json difference_json(const ComparedPolicy& policy, const ComparedPolicy& base) {
  json value = json::object();
  for (const Figure& figure : compared_figures()) {
    const std::vector<double> differences = differences_of(policy, base, figure);
    figure_at(value, figure) = json();
    if (differences.empty()) continue;
    const PairedDifference paired = paired_difference(differences);
    figure_at(value, figure) = {
        {"by_seed", differences}, {"n", differences.size()},
        {"mean", paired.mean},    {"low", paired.low},
        {"high", paired.high},    {"is", paired.is_interval ? "95 % interval" : "range"}};
  }
  return value;
}

json policy_json(const ComparedPolicy& policy) {
  json means = json::object();
  for (const Figure& figure : compared_figures()) {
    const auto range = range_over_seeds(policy, figure);
    figure_at(means, figure) = range ? json(range->mean) : json();
  }
  json runs = json::array();
  for (json summary : policy.summaries) {
    summary.erase("users");
    summary.erase("groups");
    runs.push_back(std::move(summary));
  }
  return {{"policy", policy.policy}, {"folder", policy.folder}, {"mean", means}, {"runs", runs}};
}

json point_json(const ComparedPoint& point, std::uint64_t seeds) {
  json policies = json::array();
  for (const ComparedPolicy& policy : point.policies) {
    json value = policy_json(policy);
    if (seeds > 1) {
      add_ranges(policy, value);
      value["seeds_alike"] = seeds_are_alike(policy);
      value["difference_to_first"] = difference_json(policy, point.policies.front());
    }
    policies.push_back(std::move(value));
  }
  json failures = json::array();
  for (const FailedRun& failure : point.failures) {
    failures.push_back({{"policy", failure.policy},
                        {"seed", failure.seed},
                        {"exit_code", failure.exit_code},
                        {"message", failure.message}});
  }
  return {{"policies", policies}, {"failures", failures}};
}

json values_json(const ComparedPoint& point) {
  json values = json::object();
  for (const auto& [key, value] : point.values) values[key] = number_or_text(value);
  return values;
}

template <class Visit>
void visit_runs(const Comparison& comparison, const Visit& visit) {
  for (const ComparedPoint& point : comparison.points) {
    for (const ComparedPolicy& policy : point.policies) {
      for (const json& summary : policy.summaries) visit(summary);
    }
  }
}

std::string cell_of(const Figure& figure, double value) {
  switch (figure.unit) {
    case FigureUnit::kCount:
      return number_text(value, 0);
    case FigureUnit::kSeconds:
    case FigureUnit::kGpuHours:
      return number_text(value, 1);
    case FigureUnit::kFraction:
      return percent_text(value);
    case FigureUnit::kRatio:
      break;
  }
  return number_text(value, 3);
}

// Empty if the network was not computed.
std::string network_of(const json& summary) {
  std::string network = summary.value("/settings/network"_json_pointer, std::string());
  return is_computed_network(network) ? network : "";
}

// The figures that the tables show. Time lost to communication matters where the network is
// computed.
std::vector<Figure> shown_figures(const Comparison& comparison) {
  bool computed = false;
  visit_runs(comparison, [&](const json& run) { computed = computed || !network_of(run).empty(); });
  std::vector<Figure> shown;
  for (const Figure& figure : run_figures()) {
    if (figure.header.empty() || (figure.key == "comm_time_share" && !computed)) continue;
    shown.push_back(figure);
  }
  return shown;
}

// A table that begins with a column for each thing that is swept.
std::vector<Table::Column> swept_columns(const Comparison& comparison) {
  std::vector<Table::Column> columns;
  if (comparison.points.empty()) return columns;
  for (const auto& [key, value] : comparison.points.front().values) columns.push_back({key});
  return columns;
}

std::vector<std::string> swept_cells(const ComparedPoint& point) {
  std::vector<std::string> cells;
  for (const auto& [key, value] : point.values) cells.push_back(value);
  return cells;
}

Table means_table(const Comparison& comparison) {
  std::vector<Table::Column> columns = swept_columns(comparison);
  columns.push_back({"policy", Align::kLeft});
  const std::vector<Figure> figures = shown_figures(comparison);
  for (const Figure& figure : figures) columns.push_back({std::string(figure.header)});
  Table table(std::move(columns));
  for (const ComparedPoint& point : comparison.points) {
    for (const ComparedPolicy& policy : point.policies) {
      if (policy.summaries.empty()) continue;
      std::vector<std::string> cells = swept_cells(point);
      cells.push_back(policy.policy);
      for (const Figure& figure : figures) {
        const auto range = range_over_seeds(policy, figure);
        cells.push_back(range ? cell_of(figure, range->mean) : "-");
      }
      table.add_row(std::move(cells));
    }
  }
  return table;
}

std::string interval_cell(const PairedDifference& paired, const Figure& figure) {
  return fmt::format("{} .. {}{}", cell_of(figure, paired.low), cell_of(figure, paired.high),
                     paired.is_interval ? "" : " (range)");
}

void add_seeds_row(Table& table, const ComparedPoint& point, const ComparedPolicy& policy,
                   const Figure& figure) {
  const auto range = range_over_seeds(policy, figure);
  if (!range) return;
  std::vector<std::string> cells = swept_cells(point);
  const auto differences = differences_of(policy, point.policies.front(), figure);
  for (std::string cell : {std::string(figure.header), policy.policy, cell_of(figure, range->mean),
                           cell_of(figure, range->min), cell_of(figure, range->max)}) {
    cells.push_back(std::move(cell));
  }
  if (differences.empty() || &policy == &point.policies.front()) {
    cells.insert(cells.end(), {"-", "-", "-"});
  } else {
    const PairedDifference paired = paired_difference(differences);
    cells.push_back(cell_of(figure, paired.mean));
    cells.push_back(interval_cell(paired, figure));
    cells.push_back(fmt::format("{}", differences.size()));
  }
  table.add_row(std::move(cells));
}

// Of figures that are no counts; of a sweep only the first: all of them would fill screens.
Table seeds_table(const Comparison& comparison) {
  std::vector<Table::Column> columns = swept_columns(comparison);
  columns.insert(columns.end(), {{"over seeds", Align::kLeft},
                                 {"policy", Align::kLeft},
                                 {"mean"},
                                 {"min"},
                                 {"max"},
                                 {"minus first"},
                                 {"95 % interval"},
                                 {"n"}});
  Table table(std::move(columns));
  std::vector<Figure> figures = shown_figures(comparison);
  std::erase_if(figures, [](const Figure& one) { return one.unit == FigureUnit::kCount; });
  for (const ComparedPoint& point : comparison.points) {
    for (const Figure& figure : figures) {
      for (const ComparedPolicy& policy : point.policies) {
        add_seeds_row(table, point, policy, figure);
      }
      if (!point.values.empty()) break;
    }
  }
  return table;
}

constexpr std::string_view kAllAlike =
    "The seed changes nothing here: the trace stays the same, and nothing else is random.\n";

// The policies that gave the same with every seed at every point, or nothing.
std::string alike_text(const Comparison& comparison) {
  std::map<std::string, bool> alike;
  for (const ComparedPoint& point : comparison.points) {
    for (const ComparedPolicy& policy : point.policies) {
      const auto found = alike.emplace(policy.policy, true).first;
      found->second = found->second && seeds_are_alike(policy);
    }
  }
  std::vector<std::string> names;
  for (const auto& [policy, is_alike] : alike) {
    if (is_alike) names.push_back(policy);
  }
  if (names.empty()) return {};
  if (names.size() < alike.size()) {
    return fmt::format("The seed changes nothing for: {}\n", fmt::join(names, "; "));
  }
  return std::string(kAllAlike);
}

// Of all runs: the most jobs that communicate where the network is computed.
std::string remarks_of(const Comparison& comparison) {
  RemarkedRun all;
  visit_runs(comparison, [&](const json& run) {
    if (network_of(run).empty()) return;
    all.network = network_of(run);
    const auto jobs = figure_in(run, *find_figure("models_communicating"));
    all.models_communicating =
        std::max<std::int64_t>(all.models_communicating, std::llround(jobs.value_or(0)));
  });
  return remarks_text(all);
}

// Of all runs, each line once: it is mostly the same for all.
std::vector<AssumedLine> assumed_of(const Comparison& comparison) {
  std::vector<AssumedLine> lines;
  visit_runs(comparison, [&](const json& run) {
    for (const json& one : run.value("/assumed/lines"_json_pointer, json::array())) {
      const AssumedLine line{one.value("about", ""), one.value("text", ""),
                             one.value("jobs", std::int64_t{0}), one.value("grave", false)};
      if (std::ranges::find(lines, line) == lines.end()) lines.push_back(line);
    }
  });
  return lines;
}

}  // namespace

std::filesystem::path run_folder(const ComparedPoint& point, const ComparedPolicy& policy,
                                 std::uint64_t seed, std::uint64_t seeds) {
  const auto folder = std::filesystem::path(point.folder) / policy.folder;
  return seeds == 1 ? folder : folder / fmt::format("seed-{}", seed);
}

json number_or_text(const std::string& text) {
  json value = json::parse(text, nullptr, false);
  if (value.is_number()) return value;  // a whole number stays one
  const auto number = parse_number(text);
  return number ? json(*number) : json(text);
}

std::string comparison_json(const ComparedPoint& point, std::uint64_t seeds) {
  return json_text(point_json(point, seeds));
}

std::string comparison_json(const Comparison& comparison) {
  if (comparison.points.size() == 1 && comparison.points.front().values.empty()) {
    return comparison_json(comparison.points.front(), comparison.seeds);
  }
  json points = json::array();
  for (const ComparedPoint& point : comparison.points) {
    json value = point_json(point, comparison.seeds);
    value["point"] = values_json(point);
    value["folder"] = point.folder;
    points.push_back(std::move(value));
  }
  return json_text({{"points", points}});
}

std::string comparison_text(const Comparison& comparison, TextStyle style) {
  std::string text = means_table(comparison).text(style) + remarks_of(comparison) +
                     assumed_text(assumed_of(comparison), style);
  if (comparison.seeds == 1) return text;
  const std::string alike = alike_text(comparison);
  if (alike == kAllAlike) return text + "\n" + alike;
  text += "\n" + seeds_table(comparison).text(style);
  return alike.empty() ? text : text + "\n" + alike;
}

}  // namespace fairlead
