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

bool is_policy(std::string_view policy, std::string_view name) {
  return policy == name || policy.starts_with(fmt::format("{}:", name));
}

// Adds a line on how near our model of a real scheduler comes to its past, and a warning if it is off.
void add_model(const std::string& policy, const Recorded& recorded,
               std::vector<std::string>& lines) {
  constexpr double kNear = 0.25;  // a part of the recorded wait; chosen
  lines.push_back(fmt::format("Our model of your scheduler, {}: mean wait {}, recorded {}.", policy,
                              wait_text(recorded.wait_here_s), wait_text(recorded.wait_s)));
  const double off_s = recorded.wait_here_s - recorded.wait_s;
  if (std::abs(off_s) <= kNear * recorded.wait_s) return;
  const std::string by = recorded.wait_s > 0
                             ? fmt::format(" by {:.0f} %", 100 * std::abs(off_s) / recorded.wait_s)
                             : "";
  lines.push_back(
      fmt::format("! A decision from this table rests on an inaccurate model: it waits {}{} than "
                  "was recorded.",
                  off_s > 0 ? "longer" : "less", by));
}

}  // namespace

std::vector<std::string> recorded_lines(const ComparedPoint& point) {
  std::string past;
  std::vector<std::string> lines;
  for (const ComparedPolicy& policy : point.policies) {
    if (policy.summaries.empty()) continue;
    const auto recorded = recorded_in(policy.summaries.front());
    if (!recorded) {
      if (is_as_recorded(policy.policy))
        past = fmt::format("No row for {}: the trace has no recorded starts.", policy.policy);
    } else if (is_as_recorded(policy.policy)) {
      past = fmt::format(
          "Recorded: mean wait {} over {:.0f} jobs; {} kept {:.0f} of their starts, {:.0f} came "
          "later.",
          wait_text(recorded->wait_s), recorded->starts, policy.policy, recorded->kept,
          recorded->later);
    } else if (is_policy(policy.policy, "slurm") || is_policy(policy.policy, "kube")) {
      add_model(policy.policy, *recorded, lines);
    }
  }
  if (!past.empty()) lines.push_back(std::move(past));
  return lines;
}

std::string recorded_text(const Comparison& comparison) {
  std::string text;
  for (const ComparedPoint& point : comparison.points) {
    const std::vector<std::string> lines = recorded_lines(point);
    if (!lines.empty()) text += fmt::format("{}{}\n", heading_of(point), fmt::join(lines, "\n"));
  }
  return text.empty() ? text : text + "\n";
}

bool is_as_recorded(std::string_view policy) { return is_policy(policy, "as-recorded"); }

bool has_nothing_recorded(const ComparedPolicy& policy) {
  return is_as_recorded(policy.policy) && !policy.summaries.empty() &&
         !recorded_in(policy.summaries.front());
}

}  // namespace fairlead
