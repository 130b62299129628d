#include "fairlead/compare/comparison.h"

#include "fairlead/base/parse.h"
#include "fairlead/compare/paired.h"
#include "fairlead/report/json.h"
#include "fairlead/report/summary_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>

namespace fairlead {
namespace {

using nlohmann::json;
using Pointer = json::json_pointer;

constexpr const char* kMeansOf[] = {
    "/finished",
    "/makespan_s",
    "/jct_avg_s",
    "/jct_p50_s",
    "/jct_p90_s",
    "/jct_p99_s",
    "/queue_avg_s",
    "/gpu_utilization",
    "/gpu_hours",
    "/preemptions",
    "/migrations",
    "/placements/pair",
    "/placements/node",
    "/placements/rack",
    "/placements/spine",
    "/comm_time_share",
    "/fairness/jain",
    "/fairness/share_error_max",
    "/fairness/share_error_avg",
    "/fairness/ftf_max",
    "/fairness/ftf_avg",
};

// A figure of the seeds that have it.
using BySeed = std::map<std::uint64_t, double>;

BySeed figure_of(const ComparedPolicy& policy, const char* pointer) {
  BySeed figure;
  for (const json& summary : policy.summaries) {
    const json value = summary.value(Pointer(pointer), json());
    const auto seed = summary.value("seed", std::uint64_t{0});
    if (value.is_number()) figure[seed] = value.get<double>();
  }
  return figure;
}

std::optional<Range> range_over_seeds(const ComparedPolicy& policy, const char* pointer) {
  std::vector<double> values;
  for (const auto& [seed, value] : figure_of(policy, pointer)) values.push_back(value);
  return values.empty() ? std::nullopt : std::optional(range_of(values));
}

// Of the seeds that both have, in order.
std::vector<double> differences_of(const ComparedPolicy& policy, const ComparedPolicy& base,
                                   const char* pointer) {
  const BySeed of_base = figure_of(base, pointer);
  std::vector<double> differences;
  for (const auto& [seed, value] : figure_of(policy, pointer)) {
    const auto found = of_base.find(seed);
    if (found != of_base.end()) differences.push_back(value - found->second);
  }
  return differences;
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
  for (const char* pointer : kMeansOf) {
    const auto range = range_over_seeds(policy, pointer);
    value["min"][Pointer(pointer)] = range ? json(range->min) : json();
    value["max"][Pointer(pointer)] = range ? json(range->max) : json();
  }
}

json difference_json(const ComparedPolicy& policy, const ComparedPolicy& base) {
  json value = json::object();
  for (const char* pointer : kMeansOf) {
    const std::vector<double> differences = differences_of(policy, base, pointer);
    value[Pointer(pointer)] = json();
    if (differences.empty()) continue;
    const PairedDifference paired = paired_difference(differences);
    value[Pointer(pointer)] = {
        {"by_seed", differences}, {"n", differences.size()},
        {"mean", paired.mean},    {"low", paired.low},
        {"high", paired.high},    {"is", paired.is_interval ? "95 % interval" : "range"}};
  }
  return value;
}

json policy_json(const ComparedPolicy& policy) {
  json means = json::object();
  for (const char* pointer : kMeansOf) {
    const auto range = range_over_seeds(policy, pointer);
    means[Pointer(pointer)] = range ? json(range->mean) : json();
  }
  json runs = json::array();
  for (json summary : policy.summaries) {
    summary.erase("users");
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

using Format = std::string (*)(double);

std::string seconds_cell(double value) { return number_text(value, 1); }
std::string ratio_cell(double value) { return number_text(value, 3); }
std::string count_cell(double value) { return number_text(value, 0); }

struct Figure {
  const char* header;
  const char* pointer;
  Format format;
  bool over_seeds;  // part of the second table
};

constexpr Figure kFigures[] = {
    {"finished", "/finished", count_cell, false},
    {"JCT mean s", "/jct_avg_s", seconds_cell, true},
    {"p99 s", "/jct_p99_s", seconds_cell, true},
    {"queue s", "/queue_avg_s", seconds_cell, true},
    {"makespan s", "/makespan_s", seconds_cell, true},
    {"utilised", "/gpu_utilization", percent_text, true},
    {"communicating", "/comm_time_share", percent_text, true},
    {"Jain", "/fairness/jain", ratio_cell, true},
    {"share error max", "/fairness/share_error_max", percent_text, true},
    {"FTF max", "/fairness/ftf_max", ratio_cell, true},
    {"preemptions", "/preemptions", count_cell, false},
    {"migrations", "/migrations", count_cell, false},
};

// Empty if the network was not computed.
std::string network_of(const json& summary) {
  std::string network = summary.value("/settings/network"_json_pointer, std::string());
  return is_computed_network(network) ? network : "";
}

// Time lost to communication matters where the network is computed.
bool is_shown(const Figure& figure, const Comparison& comparison) {
  if (std::string_view(figure.pointer) != "/comm_time_share") return true;
  bool computed = false;
  visit_runs(comparison, [&](const json& run) { computed = computed || !network_of(run).empty(); });
  return computed;
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
  for (const Figure& figure : kFigures) {
    if (is_shown(figure, comparison)) columns.push_back({figure.header});
  }
  Table table(std::move(columns));
  for (const ComparedPoint& point : comparison.points) {
    for (const ComparedPolicy& policy : point.policies) {
      if (policy.summaries.empty()) continue;
      std::vector<std::string> cells = swept_cells(point);
      cells.push_back(policy.policy);
      for (const Figure& figure : kFigures) {
        if (!is_shown(figure, comparison)) continue;
        const auto range = range_over_seeds(policy, figure.pointer);
        cells.push_back(range ? figure.format(range->mean) : "-");
      }
      table.add_row(std::move(cells));
    }
  }
  return table;
}

std::string interval_cell(const PairedDifference& paired, Format format) {
  return fmt::format("{} .. {}{}", format(paired.low), format(paired.high),
                     paired.is_interval ? "" : " (range)");
}

void add_seeds_row(Table& table, const ComparedPoint& point, const ComparedPolicy& policy,
                   const Figure& figure) {
  const auto range = range_over_seeds(policy, figure.pointer);
  if (!range) return;
  std::vector<std::string> cells = swept_cells(point);
  const auto differences = differences_of(policy, point.policies.front(), figure.pointer);
  for (std::string cell : {std::string(figure.header), policy.policy, figure.format(range->mean),
                           figure.format(range->min), figure.format(range->max)}) {
    cells.push_back(std::move(cell));
  }
  if (differences.empty() || &policy == &point.policies.front()) {
    cells.insert(cells.end(), {"-", "-", "-"});
  } else {
    const PairedDifference paired = paired_difference(differences);
    cells.push_back(figure.format(paired.mean));
    cells.push_back(interval_cell(paired, figure.format));
    cells.push_back(fmt::format("{}", differences.size()));
  }
  table.add_row(std::move(cells));
}

// Of a sweep, only the first figure: all of them would fill screens.
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
  for (const ComparedPoint& point : comparison.points) {
    for (const Figure& figure : kFigures) {
      if (!figure.over_seeds || !is_shown(figure, comparison)) continue;
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

// Of all runs: the most jobs whose speed is not known, and the most of those that communicate where
// the network is computed.
std::string remarks_of(const Comparison& comparison) {
  RemarkedRun all;
  visit_runs(comparison, [&](const json& run) {
    const auto count = [&](const char* key) { return run.value(key, std::int64_t{0}); };
    all.jobs = std::max(all.jobs, count("jobs_read"));
    all.models_unknown = std::max(all.models_unknown, count("models_unknown"));
    if (network_of(run).empty()) return;
    all.network = network_of(run);
    all.models_communicating = std::max(all.models_communicating, count("models_communicating"));
  });
  return remarks_text(all);
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
  std::string text = means_table(comparison).text(style) + remarks_of(comparison);
  if (comparison.seeds == 1) return text;
  const std::string alike = alike_text(comparison);
  if (alike == kAllAlike) return text + "\n" + alike;
  text += "\n" + seeds_table(comparison).text(style);
  return alike.empty() ? text : text + "\n" + alike;
}

}  // namespace fairlead
