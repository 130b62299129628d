#include "fairlead/compare/recorded_text.h"

#include "fairlead/base/time_text.h"
#include "fairlead/metrics/figures.h"
#include "fairlead/report/json.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <optional>

namespace fairlead {
namespace {

using nlohmann::json;

// The run's jobs with recorded starts.
struct Recorded {
  double starts = 0;
  double kept = 0;
  double later = 0;
  double wait_s = 0;
  double wait_here_s = 0;
};

std::optional<Recorded> recorded_in(const json& summary) {
  const auto figure = [&](std::string_view key) {
    return figure_in(summary, *find_figure(key)).value_or(0);
  };
  const Recorded recorded{.starts = figure("logged/starts"),
                          .kept = figure("logged/kept"),
                          .later = figure("logged/later"),
                          .wait_s = figure("logged/queue_avg_s"),
                          .wait_here_s = figure("logged/queue_avg_here_s")};
  return recorded.starts > 0 ? std::optional(recorded) : std::nullopt;
}

std::string wait_text(double s) { return span_text(std::llround(s * 1000)); }

bool is_policy(const ComparedPolicy& policy, std::string_view name) {
  return policy.policy == name || policy.policy.starts_with(std::string(name) + ":");
}

std::string point_text(const ComparedPoint& point) {
  std::string past;
  std::string models;
  for (const ComparedPolicy& policy : point.policies) {
    if (policy.summaries.empty()) continue;
    const auto recorded = recorded_in(policy.summaries.front());
    if (!recorded) continue;
    const std::string wait = wait_text(recorded->wait_s);
    if (is_policy(policy, "as-recorded")) {
      past = fmt::format(
          "Recorded: mean wait {} over {:.0f} jobs; {} kept {:.0f} of their starts, {:.0f} came "
          "later.\n",
          wait, recorded->starts, policy.policy, recorded->kept, recorded->later);
    } else if (is_policy(policy, "slurm") || is_policy(policy, "kube")) {
      models += fmt::format("Our model of your scheduler, {}: mean wait {}, recorded {}.\n",
                            policy.policy, wait_text(recorded->wait_here_s), wait);
    }
  }
  if (past.empty()) return {};
  std::vector<std::string> values;
  for (const auto& [key, value] : point.values) values.push_back(fmt::format("{}={}", key, value));
  const std::string head = values.empty() ? "" : fmt::format("{}:\n", fmt::join(values, " "));
  return head + past + models;
}

}  // namespace

std::string recorded_text(const Comparison& comparison) {
  std::string text;
  for (const ComparedPoint& point : comparison.points) text += point_text(point);
  return text.empty() ? text : "\n" + text;
}

}  // namespace fairlead
