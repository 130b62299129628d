#include "fairlead/report/json.h"

#include "fairlead/base/time_text.h"
#include "fairlead/metrics/assumed.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cmath>

namespace fairlead {
namespace {

using nlohmann::json;

json rounded(double value) { return std::round(value * 1e9) / 1e9; }

json rounded(std::optional<double> value) { return value ? rounded(*value) : json(); }

json to_json(const UserSummary& user) {
  json value = {{"user", user.user},
                {"tickets", user.tickets},
                {"jobs", user.jobs},
                {"gpu_hours", rounded(user.gpu_hours)},
                {"work_gpu_hours", rounded(user.work_gpu_hours)},
                {"entitled_gpu_hours", rounded(user.entitled_gpu_hours)},
                {"throughput_share", rounded(user.throughput_share)},
                {"contended_entitled_gpu_hours", rounded(user.contended_entitled_gpu_hours)},
                {"contended_useful_gpu_hours", rounded(user.contended_useful_gpu_hours)},
                {"contended_effective_gpu_hours", rounded(user.contended_effective_gpu_hours)},
                {"contended_work_gpu_hours", rounded(user.contended_work_gpu_hours)},
                {"jct_avg_s", rounded(user.jct_avg_s)},
                {"queue_avg_s", rounded(user.queue_avg_s)},
                {"bounded_ftf_max", rounded(user.bounded_ftf_max)}};
  if (!user.group.empty()) value["group"] = user.group;
  if (user.energy_kwh) value["energy_kwh"] = rounded(user.energy_kwh);
  if (user.cost) value["cost"] = rounded(user.cost);
  return value;
}

json to_json(const GroupSummary& group) {
  return {{"group", group.group},
          {"tickets", group.tickets},
          {"quota", group.quota == 0 ? json() : json(group.quota)},
          {"users", group.users},
          {"jobs", group.jobs},
          {"gpu_hours", rounded(group.gpu_hours)},
          {"entitled_gpu_hours", rounded(group.entitled_gpu_hours)}};
}

json to_json(const AssumedSpeed& speed) {
  return {
      {"model", speed.model}, {"gpu_type", speed.gpu_type}, {"as", speed.as}, {"jobs", speed.jobs}};
}

json to_json(const AssumedLine& line) {
  return {
      {"about", line.about}, {"text", line.text}, {"jobs", line.jobs}, {"grave", line.is_grave}};
}

// Writes the block by its parts, and as the lines that people read.
json assumed_json(const Summary& summary) {
  const Assumptions& assumed = summary.assumed;
  const TraceReading& trace = assumed.trace;
  json value = {{"format", trace.format},
                {"format_recognised", trace.is_recognised},
                {"times", trace.times},
                {"starts_at", trace.times.empty() ? json() : json(utc_text(trace.starts_at_ms))},
                {"columns_read", trace.columns_read},
                {"columns_ignored", trace.columns_ignored},
                {"states", json::object()},
                {"reference_type", assumed.reference_type},
                {"reference_named", assumed.reference_is_named},
                {"reference_jobs", assumed.reference_jobs},
                {"jobs_without_model", assumed.jobs_without_model},
                {"rows_skipped", summary.rows_skipped},
                {"speeds", json::array()},
                {"implausible", assumed.implausible},
                {"lines", json::array()}};
  for (const auto& [state, jobs] : trace.states) value["states"][state] = jobs;
  for (const AssumedSpeed& speed : assumed.speeds) value["speeds"].push_back(to_json(speed));
  for (const AssumedLine& line : assumed_lines(summary)) value["lines"].push_back(to_json(line));
  return value;
}

json to_json(const Figure& figure, const Summary& summary) {
  const std::optional<double> value = figure.of(summary);
  if (!value) return {};
  return figure.unit == FigureUnit::kCount ? json(std::llround(*value)) : rounded(*value);
}

json::json_pointer path_of(const Figure& figure) {
  return json::json_pointer(fmt::format("/{}", figure.key));
}

}  // namespace

std::string_view version() { return FAIRLEAD_VERSION; }

std::string_view commit() { return FAIRLEAD_COMMIT; }

std::string program_text(std::string_view version, std::string_view commit) {
  return fmt::format("fairlead {}{}", version, commit.empty() ? "" : fmt::format(" ({})", commit));
}

std::string_view compiler() {
#ifdef __clang__
  return "Clang " __clang_version__;
#else
  return "GCC " __VERSION__;
#endif
}

json to_json_value(const Summary& summary) {
  json value = {{"policy", summary.policy},
                {"options", summary.options},
                {"seed", summary.seed},
                {"cluster", summary.cluster},
                {"trace", summary.trace},
                {"journal_hash", summary.journal_hash},
                {"rows_rejected", json::object()},
                {"rows_repaired", json::object()},
                {"jobs_rejected", json::object()},
                {"settings", summary.settings.empty() ? json::object() : json(summary.settings)},
                {"assumed", assumed_json(summary)},
                {"users", json::array()}};
  for (const auto& [reason, rows] : summary.rows_rejected) value["rows_rejected"][reason] = rows;
  for (const auto& [reason, rows] : summary.rows_repaired) value["rows_repaired"][reason] = rows;
  for (const auto& [reason, jobs] : summary.jobs_rejected) value["jobs_rejected"][reason] = jobs;
  for (const UserSummary& user : summary.users) value["users"].push_back(to_json(user));
  for (const RackText& rack : summary.racks) {
    value["racks"].push_back({{"name", rack.name}, {"about", rack.about}});
  }
  for (const GroupSummary& group : summary.groups) value["groups"].push_back(to_json(group));
  for (const Figure& figure : run_figures()) {
    if (figure.is_left_out && !figure.of(summary)) continue;
    figure_at(value, figure) = to_json(figure, summary);
  }
  return value;
}

json& figure_at(json& summary, const Figure& figure) { return summary[path_of(figure)]; }

std::optional<double> figure_in(const json& summary, const Figure& figure) {
  const json value = summary.value(path_of(figure), json());
  return value.is_number() ? std::optional(value.get<double>()) : std::nullopt;
}

std::string summary_json(const Summary& summary) { return json_text(to_json_value(summary)); }

std::string run_json(const RunStats& stats) {
  return json_text({{"wall_s", stats.wall_s},
                    {"decisions", stats.decisions},
                    {"events", stats.events},
                    {"peak_rss_mb", stats.peak_rss_mb},
                    {"inputs_hash", stats.inputs_hash.empty() ? json() : json(stats.inputs_hash)},
                    {"command", stats.command.empty() ? json() : json(stats.command)},
                    {"version", version()},
                    {"commit", commit().empty() ? json() : json(commit())},
                    {"compiler", compiler()}});
}

std::string json_text(const json& value) {
  return value.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace fairlead
