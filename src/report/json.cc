#include "fairlead/report/json.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cmath>

namespace fairlead {
namespace {

using nlohmann::json;

json rounded(double value) { return std::round(value * 1e9) / 1e9; }

json rounded(const std::optional<double>& value) { return value ? rounded(*value) : json(); }

json to_json(const UserSummary& user) {
  return {{"user", user.user},
          {"tickets", user.tickets},
          {"jobs", user.jobs},
          {"gpu_hours", rounded(user.gpu_hours)},
          {"work_gpu_hours", rounded(user.work_gpu_hours)},
          {"entitled_gpu_hours", rounded(user.entitled_gpu_hours)},
          {"throughput_share", rounded(user.throughput_share)}};
}

json to_json(const FairnessSummary& fairness) {
  return {{"jain", rounded(fairness.jain)},
          {"share_error_max", rounded(fairness.share_error_max)},
          {"share_error_avg", rounded(fairness.share_error_avg)},
          {"ftf_max", rounded(fairness.ftf_max)},
          {"ftf_avg", rounded(fairness.ftf_avg)}};
}

void add_times(json& value, const Summary& summary) {
  value["makespan_s"] = rounded(summary.makespan_s);
  value["jct_avg_s"] = rounded(summary.jct_avg_s);
  value["jct_p50_s"] = rounded(summary.jct_p50_s);
  value["jct_p90_s"] = rounded(summary.jct_p90_s);
  value["jct_p99_s"] = rounded(summary.jct_p99_s);
  value["queue_avg_s"] = rounded(summary.queue_avg_s);
  value["gpu_utilization"] = rounded(summary.gpu_utilization);
  value["gpu_hours"] = rounded(summary.gpu_hours);
  value["preemptions"] = summary.preemptions;
  value["migrations"] = summary.migrations;
  for (std::size_t tier = 0; tier < kTiers; ++tier) {
    value["placements"][tier_name(Tier(tier))] = summary.placements[tier];
  }
  value["comm_time_share"] = rounded(summary.comm_time_share);
}

}  // namespace

std::string_view version() { return FAIRLEAD_VERSION; }

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
                {"rows_read", summary.rows_read},
                {"rows_rejected", json::object()},
                {"rows_mended", json::object()},
                {"jobs_read", summary.jobs_read},
                {"finished", summary.finished},
                {"failed", summary.failed},
                {"rejected", summary.rejected},
                {"pending", summary.pending},
                {"jobs_rejected", json::object()},
                {"models_unknown", summary.models_unknown},
                {"models_communicating", summary.models_communicating},
                {"settings", summary.settings.empty() ? json::object() : json(summary.settings)},
                {"users", json::array()},
                {"fairness", to_json(summary.fairness)},
                {"bounds",
                 {{"makespan_lower_s", rounded(summary.bounds.makespan_lower_s)},
                  {"jct_avg_lower_s", rounded(summary.bounds.jct_avg_lower_s)}}}};
  for (const auto& [reason, rows] : summary.rows_rejected) value["rows_rejected"][reason] = rows;
  for (const auto& [reason, rows] : summary.rows_mended) value["rows_mended"][reason] = rows;
  for (const auto& [reason, jobs] : summary.jobs_rejected) value["jobs_rejected"][reason] = jobs;
  for (const UserSummary& user : summary.users) value["users"].push_back(to_json(user));
  add_times(value, summary);
  return value;
}

std::string summary_json(const Summary& summary) { return json_text(to_json_value(summary)); }

std::string run_json(const RunStats& stats) {
  return json_text({{"wall_s", stats.wall_s},
                    {"decisions", stats.decisions},
                    {"events", stats.events},
                    {"peak_rss_mb", stats.peak_rss_mb},
                    {"inputs_hash", stats.inputs_hash.empty() ? json() : json(stats.inputs_hash)},
                    {"version", version()},
                    {"compiler", compiler()}});
}

std::string json_text(const json& value) {
  return value.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace fairlead
