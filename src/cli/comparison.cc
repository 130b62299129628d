#include "cli/comparison.h"

#include "report/json.h"

#include <array>
#include <optional>

namespace fairlead {
namespace {

using nlohmann::json;

constexpr std::array kMeansOf = {
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
    "/comm_time_share",
    "/fairness/jain",
    "/fairness/share_error_max",
    "/fairness/share_error_avg",
    "/fairness/ftf_max",
    "/fairness/ftf_avg",
};

// The mean over the seeds that have the figure.
std::optional<double> mean_of(const ComparedPolicy& policy, const char* pointer) {
  double sum = 0;
  double count = 0;
  for (const json& summary : policy.summaries) {
    const json value = summary.value(json::json_pointer(pointer), json());
    if (!value.is_number()) continue;
    sum += value.get<double>();
    ++count;
  }
  return count > 0 ? std::optional(sum / count) : std::nullopt;
}

json policy_json(const ComparedPolicy& policy) {
  json means = json::object();
  for (const char* pointer : kMeansOf) {
    const auto mean = mean_of(policy, pointer);
    means[json::json_pointer(pointer)] = mean ? json(*mean) : json();
  }
  json runs = json::array();
  for (json summary : policy.summaries) {
    summary.erase("users");
    runs.push_back(std::move(summary));
  }
  return {{"policy", policy.policy}, {"folder", policy.folder}, {"mean", means}, {"runs", runs}};
}

using Format = std::string (*)(double);

std::string seconds_cell(double value) { return number_text(value, 1); }
std::string ratio_cell(double value) { return number_text(value, 3); }
std::string count_cell(double value) { return number_text(value, 0); }

struct Figure {
  const char* header;
  const char* pointer;
  Format format;
};

constexpr Figure kFigures[] = {
    {"finished", "/finished", count_cell},
    {"JCT mean s", "/jct_avg_s", seconds_cell},
    {"p99 s", "/jct_p99_s", seconds_cell},
    {"queue s", "/queue_avg_s", seconds_cell},
    {"makespan s", "/makespan_s", seconds_cell},
    {"utilised", "/gpu_utilization", percent_text},
    {"Jain", "/fairness/jain", ratio_cell},
    {"share error max", "/fairness/share_error_max", percent_text},
    {"FTF max", "/fairness/ftf_max", ratio_cell},
    {"preemptions", "/preemptions", count_cell},
    {"migrations", "/migrations", count_cell},
};

}  // namespace

std::string comparison_json(const Comparison& comparison) {
  json policies = json::array();
  for (const ComparedPolicy& policy : comparison.policies) policies.push_back(policy_json(policy));
  json failures = json::array();
  for (const FailedRun& failure : comparison.failures) {
    failures.push_back({{"policy", failure.policy},
                        {"seed", failure.seed},
                        {"exit_code", failure.exit_code},
                        {"message", failure.message}});
  }
  return json_text({{"policies", policies}, {"failures", failures}});
}

std::string comparison_text(const Comparison& comparison, TextStyle style) {
  std::vector<Table::Column> columns = {{"policy", Align::kLeft}};
  for (const Figure& figure : kFigures) columns.push_back({figure.header});
  Table table(std::move(columns));
  for (const ComparedPolicy& policy : comparison.policies) {
    if (policy.summaries.empty()) continue;
    std::vector<std::string> cells = {policy.policy};
    for (const Figure& figure : kFigures) {
      const auto mean = mean_of(policy, figure.pointer);
      cells.push_back(mean ? figure.format(*mean) : "-");
    }
    table.add_row(std::move(cells));
  }
  return table.text(style);
}

}  // namespace fairlead
