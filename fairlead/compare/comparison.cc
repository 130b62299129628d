#include "fairlead/compare/comparison.h"

#include "fairlead/base/parse.h"
#include "fairlead/base/time_text.h"
#include "fairlead/compare/margins.h"
#include "fairlead/compare/policy_figures.h"
#include "fairlead/compare/recorded_text.h"
#include "fairlead/compare/spread.h"
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

// Returns true if there are several seeds and all give the same.
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
    const std::vector<double> differences =
        differences_of(policy.summaries, base.summaries, figure);
    figure_at(value, figure) = json();
    if (differences.empty()) continue;
    const MeanInterval paired = mean_interval(differences);
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

json point_json(const ComparedPoint& point, std::uint64_t seeds, const Resampling& resampling) {
  json policies = json::array();
  for (const ComparedPolicy& policy : point.policies) {
    json value = policy_json(policy);
    if (resampling.resamples > 0) value["resampled"] = resampled_json(point, policy);
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
  std::vector<std::string> answer = answer_lines(point, resampling, TimeUnits::kHuman);
  if (std::string meaning = margin_meaning(resampling, seeds); !meaning.empty())
    answer.push_back(std::move(meaning));
  std::ranges::move(recorded_lines(point), std::back_inserter(answer));
  json value = {{"policies", policies}, {"failures", failures}, {"answer", answer}};
  if (resampling.resamples > 0) {
    value["resampling"] = {{"resamples", resampling.resamples},
                           {"days", resampling.days},
                           {"block_days", resampling.block_days}};
  }
  return value;
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

// Omits the unit if the name has its own.
std::string header_of(const Figure& figure, TimeUnits units) {
  std::string_view header = figure.header;
  const bool names_it = units == TimeUnits::kHuman && figure.unit == FigureUnit::kSeconds;
  if (names_it && header.ends_with(" s")) header.remove_suffix(2);
  return std::string(header);
}

// Empty if the network was not computed.
std::string network_of(const json& summary) {
  std::string network = summary.value("/settings/network"_json_pointer, std::string());
  return is_computed_network(network) ? network : "";
}

// Returns the figures of the tables. Time lost to communication matters only if the network is computed.
std::vector<Figure> shown_figures(const Comparison& comparison) {
  bool computed = false;
  visit_runs(comparison, [&](const json& run) { computed = computed || !network_of(run).empty(); });
  std::vector<Figure> shown;
  for (const Figure& figure : run_figures()) {
    if (figure.header.empty() || (figure.key == "comm_time_share" && !computed)) continue;
    bool has_any = !figure.is_left_out;
    visit_runs(comparison, [&](const json& run) { has_any = has_any || figure_in(run, figure); });
    if (has_any) shown.push_back(figure);
  }
  return shown;
}

// Returns the columns at the start of a table: one for each swept thing.
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

// Returns the best mean of these policies; none if all have the same, or nothing is better.
std::optional<double> best_of(const std::vector<const ComparedPolicy*>& policies,
                              const Figure& figure) {
  std::vector<double> means;
  for (const ComparedPolicy* policy : policies) {
    if (const auto range = range_over_seeds(*policy, figure)) means.push_back(range->mean);
  }
  if (figure.better == Better::kNeither || means.empty()) return std::nullopt;
  const auto [least, most] = std::ranges::minmax(means);
  if (least == most) return std::nullopt;
  return figure.better == Better::kLess ? least : most;
}

// The figure that no policy can be below, in summary.json; null if none is known.
const Figure* bound_of(const Figure& figure) {
  constexpr std::pair<std::string_view, std::string_view> kBounds[] = {
      {"jct_avg_s", "bounds/jct_avg_lower_s"},
      {"makespan_s", "bounds/makespan_lower_s"},
      {"comm_time_share", "bounds/comm_time_share_lower"}};
  for (const auto& [key, bound] : kBounds) {
    if (figure.key == key) return find_figure(bound);
  }
  return nullptr;
}

class MeansTable {
 public:
  MeansTable(const Comparison& comparison, TimeUnits units)
      : figures_(shown_figures(comparison)),
        units_(units),
        swept_(swept_columns(comparison).size()),
        table_(columns(comparison), swept_ + 1) {
    for (const ComparedPoint& point : comparison.points) add(point);
  }

  std::string text(TextStyle style) const {
    std::string text = table_.text(style, kScreenColumns);
    if (has_best_) text += "* best of its column, of the policies that finished most jobs\n";
    return text;
  }

 private:
  std::vector<Table::Column> columns(const Comparison& comparison) const {
    std::vector<Table::Column> columns = swept_columns(comparison);
    columns.push_back({"policy", Align::kLeft});
    for (const Figure& figure : figures_) columns.push_back({header_of(figure, units_)});
    return columns;
  }

  void add(const ComparedPoint& point) {
    const std::vector<const ComparedPolicy*> alike = comparable(point);
    for (const ComparedPolicy& policy : point.policies) {
      if (policy.summaries.empty() || has_nothing_recorded(policy)) continue;
      const bool is_alike = std::ranges::find(alike, &policy) != alike.end();
      add(point, policy.policy, [&](const Figure& figure) -> Cell {
        const auto range = range_over_seeds(policy, figure);
        if (!range) return {};
        const auto best = best_of(alike, figure);
        const std::string text = cell_of(figure, range->mean, units_);
        const bool is_best = is_alike && best && text == cell_of(figure, *best, units_);
        const auto margin = margin_of(policy, figure);
        return {margin ? fmt::format("{} ± {}", text, cell_of(figure, *margin, units_)) : text,
                is_best};
      });
    }
    if (alike.size() > 1) add_bounds(point, alike);
  }

  // Adds the smallest bounds of those policies, which may differ by their seeds.
  void add_bounds(const ComparedPoint& point, const std::vector<const ComparedPolicy*>& alike) {
    bool has_any = false;
    const auto least = [&](const Figure& figure) -> std::optional<double> {
      const Figure* bound = bound_of(figure);
      std::optional<double> found;
      for (const ComparedPolicy* policy : alike) {
        const auto range = bound == nullptr ? std::nullopt : range_over_seeds(*policy, *bound);
        if (range) found = std::min(found.value_or(range->mean), range->mean);
      }
      has_any = has_any || found.has_value();
      return found;
    };
    std::vector<std::optional<double>> bounds;
    for (const Figure& figure : figures_) bounds.push_back(least(figure));
    if (!has_any) return;
    auto bound = bounds.begin();
    add(point, "(lower bound)", [&](const Figure& figure) -> Cell {
      const std::optional<double> value = *bound++;
      return {value ? cell_of(figure, *value, units_) : ""};
    });
  }

  struct Cell {
    std::string text = "-";
    bool is_best = false;
  };
  template <class CellOf>
  void add(const ComparedPoint& point, const std::string& name, const CellOf& cell_of_figure) {
    std::vector<std::string> cells = swept_cells(point);
    cells.push_back(name);
    std::vector<bool> best(cells.size());
    for (const Figure& figure : figures_) {
      const Cell cell = cell_of_figure(figure);
      cells.push_back(cell.text);
      best.push_back(cell.is_best);
    }
    table_.add_row(std::move(cells));
    for (std::size_t i = 0; i < best.size(); ++i) {
      if (best[i]) table_.mark(i);
      has_best_ = has_best_ || best[i];
    }
  }

  std::vector<Figure> figures_;
  TimeUnits units_;
  std::size_t swept_;
  Table table_;
  bool has_best_ = false;
};

std::string interval_cell(const MeanInterval& paired, const Figure& figure, TimeUnits units) {
  return fmt::format("{} .. {}{}", cell_of(figure, paired.low, units),
                     cell_of(figure, paired.high, units), paired.is_interval ? "" : " (range)");
}

void add_seeds_row(Table& table, const ComparedPoint& point, const ComparedPolicy& policy,
                   const Figure& figure, TimeUnits units) {
  const auto range = range_over_seeds(policy, figure);
  if (!range) return;
  std::vector<std::string> cells = swept_cells(point);
  const auto differences =
      differences_of(policy.summaries, point.policies.front().summaries, figure);
  cells.push_back(header_of(figure, units));
  cells.push_back(policy.policy);
  for (double value : {range->mean, range->min, range->max})
    cells.push_back(cell_of(figure, value, units));
  if (differences.empty() || &policy == &point.policies.front()) {
    cells.insert(cells.end(), {"-", "-", "-"});
  } else {
    const MeanInterval paired = mean_interval(differences);
    cells.push_back(cell_of(figure, paired.mean, units));
    cells.push_back(interval_cell(paired, figure, units));
    cells.push_back(fmt::format("{}", differences.size()));
  }
  table.add_row(std::move(cells));
}

// Returns a table of figures that are not counts, for a sweep only of the first point: all points would fill screens.
Table seeds_table(const Comparison& comparison, TimeUnits units) {
  std::vector<Table::Column> columns = swept_columns(comparison);
  const std::size_t keys = columns.size() + 2;
  columns.insert(columns.end(), {{"over seeds", Align::kLeft},
                                 {"policy", Align::kLeft},
                                 {"mean"},
                                 {"min"},
                                 {"max"},
                                 {"minus first"},
                                 {"95 % interval"},
                                 {"n"}});
  Table table(std::move(columns), keys);
  std::vector<Figure> figures = shown_figures(comparison);
  std::erase_if(figures, [](const Figure& one) { return one.unit == FigureUnit::kCount; });
  for (const ComparedPoint& point : comparison.points) {
    for (const Figure& figure : figures) {
      for (const ComparedPolicy& policy : point.policies) {
        add_seeds_row(table, point, policy, figure, units);
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

// Takes the run with the most communicating jobs among runs with a computed network.
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

// Returns each line of all runs once, because most lines are the same in all.
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

std::filesystem::path resample_folder(const ComparedPoint& point, const ComparedPolicy& policy,
                                      std::uint64_t number) {
  return run_folder(point, policy, 0, 1) / fmt::format("resample-{}", number);
}

std::string heading_of(const ComparedPoint& point) {
  std::vector<std::string> values;
  for (const auto& [key, value] : point.values) values.push_back(fmt::format("{}={}", key, value));
  return values.empty() ? "" : fmt::format("{}:\n", fmt::join(values, " "));
}

json number_or_text(const std::string& text) {
  json value = json::parse(text, nullptr, false);
  if (value.is_number()) return value;  // keep whole numbers
  const auto number = parse_number(text);
  return number ? json(*number) : json(text);
}

std::string comparison_json(const ComparedPoint& point, std::uint64_t seeds,
                            const Resampling& resampling) {
  return json_text(point_json(point, seeds, resampling));
}

std::string comparison_json(const Comparison& comparison) {
  if (comparison.points.size() == 1 && comparison.points.front().values.empty()) {
    return comparison_json(comparison.points.front(), comparison.seeds, comparison.resampling);
  }
  json points = json::array();
  for (const ComparedPoint& point : comparison.points) {
    json value = point_json(point, comparison.seeds, comparison.resampling);
    value["point"] = values_json(point);
    value["folder"] = point.folder;
    points.push_back(std::move(value));
  }
  return json_text({{"points", points}});
}

std::string comparison_text(const Comparison& comparison, TextStyle style, TimeUnits units) {
  std::string text = MeansTable(comparison, units).text(style) + remarks_of(comparison) +
                     margins_text(comparison, units) + assumed_text(assumed_of(comparison), style);
  if (comparison.seeds == 1) return text;
  const std::string alike = alike_text(comparison);
  if (alike == kAllAlike) return text + "\n" + alike;
  text += "\n" + seeds_table(comparison, units).text(style, kScreenColumns);
  return alike.empty() ? text : text + "\n" + alike;
}

}  // namespace fairlead
