#include "fairlead/trace/inspect.h"

#include "fairlead/trace/plausible.h"

#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <tuple>

namespace fairlead {
namespace {

constexpr double kSecondsPerHour = 3600;

// GPU-hours of one job. A double, because the sum over a crafted trace can exceed 64 bits.
double gpu_hours_of(const Workload& workload, JobId job) {
  return to_seconds(workload.durations[job]) * workload.jobs.gpus[job] / kSecondsPerHour;
}

// REQUIRES: sorted, and not empty.
template <class T>
T quantile_of(const std::vector<T>& sorted, double q) {
  const double rank = std::ceil(q * static_cast<double>(sorted.size()));
  return sorted[static_cast<std::size_t>(std::max(rank, 1.0)) - 1];
}

void add_durations(const Workload& workload, TraceStats& stats) {
  std::vector<Duration> sorted(workload.durations.begin(), workload.durations.end());
  std::sort(sorted.begin(), sorted.end());
  const auto quantile = [&](double q) { return to_seconds(quantile_of(sorted, q)); };
  stats.duration_p50_s = quantile(0.5);
  stats.duration_p90_s = quantile(0.9);
  stats.duration_p99_s = quantile(0.99);
  stats.duration_max_s = quantile(1);
  for (const Duration duration : sorted) stats.duration_mean_s += to_seconds(duration);
  stats.duration_mean_s /= static_cast<double>(sorted.size());
}

// Sweeps over starts and ends; at one time, ends come first.
void add_demand(const Workload& workload, TraceStats& stats) {
  std::vector<std::pair<Time, std::int64_t>> changes;
  changes.reserve(2 * workload.jobs.size());
  for (const JobId job : ids<JobId>(workload.jobs.size())) {
    const Time start = workload.jobs.arrival[job];
    const std::int64_t gpus = workload.jobs.gpus[job];
    changes.emplace_back(start, gpus);
    changes.emplace_back(start + workload.durations[job], -gpus);
    stats.gpu_hours += gpu_hours_of(workload, job);
  }
  std::sort(changes.begin(), changes.end());
  std::int64_t demand = 0;
  for (const auto& [time, gpus] : changes) {
    demand += gpus;
    stats.demand_peak_gpus = std::max(stats.demand_peak_gpus, demand);
  }
  stats.first_submit_s = to_seconds(changes.front().first);
  stats.last_end_s = to_seconds(changes.back().first);
  stats.demand_mean_gpus =
      stats.gpu_hours / ((stats.last_end_s - stats.first_submit_s) / kSecondsPerHour);
}

void add_users(const Workload& workload, TraceStats& stats) {
  std::vector<TraceStats::User> users;
  for (const UserId user : ids<UserId>(workload.users.size()))
    users.push_back({workload.users.names[user], workload.users.tickets[user]});
  for (const JobId job : ids<JobId>(workload.jobs.size())) {
    TraceStats::User& user = users[workload.jobs.user[job].row()];
    ++user.jobs;
    user.gpu_hours += gpu_hours_of(workload, job);
  }
  std::stable_sort(users.begin(), users.end(),
                   [](const auto& a, const auto& b) { return a.gpu_hours > b.gpu_hours; });
  users.resize(std::min(users.size(), kUsersTop));
  stats.users_top = std::move(users);
}

void add_states(const Workload& workload, TraceStats& stats) {
  for (const JobId job : ids<JobId>(workload.states.size())) {
    const std::uint8_t state = workload.states[job];
    if (state == 0) continue;
    TraceStats::Ended& ended = stats.states[workload.state_words[state - std::size_t{1}]];
    ++ended.jobs;
    ended.gpu_hours += gpu_hours_of(workload, job);
  }
}

void add_logged(const Workload& workload, TraceStats& stats) {
  std::vector<double> used;
  std::vector<double> waited_s;
  for (const JobId job : ids<JobId>(workload.jobs.logged.size())) {
    const Logged& logged = workload.jobs.logged[job];
    const Duration ran = workload.durations[job];
    if (logged.time_limit.ms > 0) {
      used.push_back(to_seconds(ran) / to_seconds(logged.time_limit));
      stats.limits.exceeded += ran > logged.time_limit;
    }
    if (logged.start != Time::never())
      waited_s.push_back(to_seconds(logged.start - workload.jobs.arrival[job]));
  }
  std::ranges::sort(used);
  std::ranges::sort(waited_s);
  stats.limits.jobs = std::ssize(used);
  stats.waits.jobs = std::ssize(waited_s);
  if (!used.empty()) {
    stats.limits.used_p50 = quantile_of(used, 0.5);
    stats.limits.used_p90 = quantile_of(used, 0.9);
  }
  if (waited_s.empty()) return;
  stats.waits.p50_s = quantile_of(waited_s, 0.5);
  stats.waits.p90_s = quantile_of(waited_s, 0.9);
  stats.waits.mean_s =
      std::accumulate(waited_s.begin(), waited_s.end(), 0.0) / static_cast<double>(waited_s.size());
}

using Text = std::back_insert_iterator<std::string>;

void print_counts(Text out, std::string_view title, const auto& counts) {
  if (counts.empty()) return;
  fmt::format_to(out, "\n{}\n", title);
  for (const auto& [what, count] : counts) fmt::format_to(out, "  {:<52} {:>12}\n", what, count);
}

void print_reading(Text out, const TraceStats& stats) {
  const TraceReading& reading = stats.reading;
  for (const std::string& odd : stats.implausible) fmt::format_to(out, "odd: {}\n", odd);
  if (!reading.format.empty()) {
    fmt::format_to(out, "format: {}{}\n", reading.format,
                   reading.is_recognised ? ", recognised by its content" : "");
  }
  if (!reading.times.empty()) {
    const auto first_ms = static_cast<std::int64_t>(stats.first_submit_s * 1000);
    fmt::format_to(out, "times: {}; the first submission is at {} UTC\n", reading.times,
                   date_text(reading.starts_at_ms + first_ms));
  }
  if (!reading.columns_read.empty()) {
    fmt::format_to(out, "columns read: {}\n", fmt::join(reading.columns_read, ", "));
  }
  if (!reading.columns_ignored.empty()) {
    fmt::format_to(out, "columns ignored: {}\n", fmt::join(reading.columns_ignored, ", "));
  }
  if (stats.states.empty()) return;
  fmt::format_to(out, "\n{:<24} {:>12} {:>14}\n", "ended", "jobs", "gpu_hours");
  for (const auto& [state, ended] : stats.states)
    fmt::format_to(out, "{:<24} {:>12} {:>14.1f}\n", state, ended.jobs, ended.gpu_hours);
}

void print_logged(Text out, const TraceStats& stats) {
  const TraceStats::Limits& limits = stats.limits;
  if (limits.jobs > 0) {
    fmt::format_to(
        out,
        "time limits: of {} jobs; half of them used at most {:.1f} % of it, nine in ten at "
        "most {:.1f} %; {} ran longer\n",
        limits.jobs, 100 * limits.used_p50, 100 * limits.used_p90, limits.exceeded);
  }
  const TraceStats::Waits& waits = stats.waits;
  if (waits.jobs > 0) {
    fmt::format_to(out,
                   "recorded waits: of {} jobs; mean {:.1f} s, median {:.1f} s, p90 {:.1f} s\n",
                   waits.jobs, waits.mean_s, waits.p50_s, waits.p90_s);
  }
}

void print_sizes(Text out, const TraceStats& stats) {
  fmt::format_to(out, "\n{:<10} {:>12} {:>8}\n", "gpus", "jobs", "share");
  for (const auto& [gpus, jobs] : stats.jobs_by_gpus) {
    const double share = 100 * static_cast<double>(jobs) / static_cast<double>(stats.jobs);
    fmt::format_to(out, "{:<10} {:>12} {:>7.2f}%\n", gpus, jobs, share);
  }
}

void print_users(Text out, const TraceStats& stats) {
  fmt::format_to(out, "\n{:<24} {:>8} {:>12} {:>14}\n", "user", "tickets", "jobs", "gpu_hours");
  for (const TraceStats::User& user : stats.users_top)
    fmt::format_to(out, "{:<24} {:>8} {:>12} {:>14.1f}\n", user.name, user.tickets, user.jobs,
                   user.gpu_hours);
  const auto more = stats.users - static_cast<std::int64_t>(stats.users_top.size());
  if (more > 0) fmt::format_to(out, "and {} more\n", more);
}

void print_numbers(Text out, const TraceStats& stats, TimeUnits units) {
  const auto line = [&](std::string_view name, double value) {
    fmt::format_to(out, "{:<20} {:>16.3f}\n", name, value);
  };
  const auto time = [&](std::string_view name, double s) {
    if (units == TimeUnits::kSeconds) return line(fmt::format("{}_s", name), s);
    fmt::format_to(out, "{:<20} {:>16}\n", name, length_text(s));
  };
  time("first_submit", stats.first_submit_s);
  time("last_submit", stats.last_submit_s);
  time("last_end", stats.last_end_s);
  time("duration_p50", stats.duration_p50_s);
  time("duration_p90", stats.duration_p90_s);
  time("duration_p99", stats.duration_p99_s);
  time("duration_max", stats.duration_max_s);
  time("duration_mean", stats.duration_mean_s);
  line("gpu_hours", stats.gpu_hours);
  line("demand_mean_gpus", stats.demand_mean_gpus);
  fmt::format_to(out, "{:<20} {:>16}\n", "demand_peak_gpus", stats.demand_peak_gpus);
}

nlohmann::json json_of(const TraceStats::User& user) {
  return {{"user", user.name},
          {"tickets", user.tickets},
          {"jobs", user.jobs},
          {"gpu_hours", user.gpu_hours}};
}

}  // namespace

TraceStats inspect(const Workload& workload) {
  TraceStats stats;
  stats.trace = workload.name;
  stats.jobs = static_cast<std::int64_t>(workload.jobs.size());
  stats.users = static_cast<std::int64_t>(workload.users.size());
  stats.models = static_cast<std::int64_t>(workload.models.size());
  stats.rows = workload.rows;
  stats.reading = workload.reading;
  stats.implausible = implausible_facts(workload);
  if (stats.jobs == 0) return stats;
  const auto& arrivals = workload.jobs.arrival;
  stats.last_submit_s = to_seconds(*std::max_element(arrivals.begin(), arrivals.end()));
  for (const std::uint32_t gpus : workload.jobs.gpus) ++stats.jobs_by_gpus[gpus];
  add_durations(workload, stats);
  add_demand(workload, stats);
  add_users(workload, stats);
  add_states(workload, stats);
  add_logged(workload, stats);
  return stats;
}

std::string to_text(const TraceStats& stats, TimeUnits units) {
  std::string text;
  const auto out = std::back_inserter(text);
  fmt::format_to(out, "{}: {} jobs of {} users, {} models\n", stats.trace, stats.jobs, stats.users,
                 stats.models);
  fmt::format_to(out, "rows: {} read, {} rejected\n", stats.rows.rows_read, stats.rows.rejected());
  print_counts(out, "rejected rows, by reason", stats.rows.rows_rejected);
  print_counts(out, "rows repaired", stats.rows.rows_repaired);
  if (stats.jobs == 0) return text;
  print_reading(out, stats);
  print_logged(out, stats);
  text += '\n';
  print_numbers(out, stats, units);
  print_sizes(out, stats);
  print_users(out, stats);
  return text;
}

std::string to_json(const TraceStats& stats) {
  nlohmann::json users = nlohmann::json::array();
  for (const TraceStats::User& user : stats.users_top) users.push_back(json_of(user));
  nlohmann::json sizes = nlohmann::json::object();
  for (const auto& [gpus, jobs] : stats.jobs_by_gpus) sizes[std::to_string(gpus)] = jobs;
  nlohmann::json states = nlohmann::json::object();
  for (const auto& [state, ended] : stats.states) states[state] = ended.gpu_hours;
  nlohmann::json json = {{"trace", stats.trace},
                         {"rows_read", stats.rows.rows_read},
                         {"rows_rejected", stats.rows.rows_rejected},
                         {"rows_repaired", stats.rows.rows_repaired},
                         {"rows_skipped", stats.rows.rows_skipped},
                         {"format", stats.reading.format},
                         {"times", stats.reading.times},
                         {"columns_read", stats.reading.columns_read},
                         {"columns_ignored", stats.reading.columns_ignored},
                         {"states", stats.reading.states},
                         {"states_gpu_hours", states},
                         {"implausible", stats.implausible},
                         {"jobs", stats.jobs},
                         {"users", stats.users},
                         {"models", stats.models},
                         {"first_submit_s", stats.first_submit_s},
                         {"last_submit_s", stats.last_submit_s},
                         {"last_end_s", stats.last_end_s},
                         {"jobs_by_gpus", sizes},
                         {"duration_p50_s", stats.duration_p50_s},
                         {"duration_p90_s", stats.duration_p90_s},
                         {"duration_p99_s", stats.duration_p99_s},
                         {"duration_max_s", stats.duration_max_s},
                         {"duration_mean_s", stats.duration_mean_s},
                         {"gpu_hours", stats.gpu_hours},
                         {"demand_mean_gpus", stats.demand_mean_gpus},
                         {"demand_peak_gpus", stats.demand_peak_gpus},
                         {"users_top", users}};
  if (const auto& limits = stats.limits; limits.jobs > 0) {
    json["time_limits"] = {{"jobs", limits.jobs},
                           {"exceeded", limits.exceeded},
                           {"used_p50", limits.used_p50},
                           {"used_p90", limits.used_p90}};
  }
  if (const auto& waits = stats.waits; waits.jobs > 0) {
    json["recorded_waits"] = {{"jobs", waits.jobs},
                              {"mean_s", waits.mean_s},
                              {"p50_s", waits.p50_s},
                              {"p90_s", waits.p90_s}};
  }
  return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace fairlead
