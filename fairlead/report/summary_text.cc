#include "fairlead/report/summary_text.h"

#include "fairlead/base/printable.h"

#include <fmt/format.h>

#include <algorithm>

namespace fairlead {
namespace {

constexpr std::size_t kUsersShown = 10;

std::string time_text(const std::optional<double>& s, TimeUnits units) {
  if (!s) return "-";
  return units == TimeUnits::kHuman ? length_text(*s) : number_text(*s, 1) + " s";
}
// "2 h 36 min (1.03 x the lower bound of 2 h 31 min)".
std::string bounded_text(const std::optional<double>& value, const std::optional<double>& lower,
                         TimeUnits units) {
  if (!value || !lower || *lower <= 0) return time_text(value, units);
  return fmt::format("{} ({} x the lower bound of {})", time_text(value, units),
                     number_text(*value / *lower, 2), time_text(lower, units));
}

// Returns the line of one name; breaks a long one after a comma.
std::string named_line(std::string_view name, std::string_view value) {
  constexpr std::size_t kNameColumns = 10;
  std::string text = fmt::format("{:<{}}", name, kNameColumns);
  for (;;) {
    const std::size_t room = kScreenColumns - kNameColumns;
    const std::size_t comma = value.size() <= room ? value.npos : value.rfind(", ", room - 1);
    if (comma == value.npos) return text + std::string(value) + "\n";
    text += fmt::format("{}\n{:{}}", value.substr(0, comma + 1), "", kNameColumns);
    value.remove_prefix(comma + 2);
  }
}

std::string share_text(const std::optional<double>& value) {
  return value ? percent_text(*value) : "-";
}
std::string ratio_text(const std::optional<double>& value) {
  return value ? number_text(*value, 3) : "-";
}

// ", 3 rejected (2 larger than the cluster, 1 ...)"; empty if there is none.
std::string reasons_text(const CountByReason& counts, std::string_view what) {
  std::int64_t total = 0;
  std::string reasons;
  for (const auto& [reason, count] : counts) {
    total += count;
    reasons += fmt::format("{}{} {}", reasons.empty() ? "" : ", ", count_text(count), reason);
  }
  return total == 0 ? "" : fmt::format(", {} {} ({})", count_text(total), what, reasons);
}

std::string jobs_text(const Summary& summary) {
  std::string text =
      fmt::format("{} of {} finished", count_text(summary.finished), count_text(summary.jobs_read));
  if (summary.failed > 0) text += fmt::format(", {} failed", count_text(summary.failed));
  if (summary.pending > 0) text += fmt::format(", {} pending", count_text(summary.pending));
  return text + reasons_text(summary.jobs_rejected, "rejected");
}

// "3 pair, 2 node, 1 rack, 0 spine".
std::string placements_text(const Summary& summary) {
  std::string text;
  for (std::size_t tier = 0; tier < kTiers; ++tier) {
    text += fmt::format("{}{} {}", tier == 0 ? "" : ", ", count_text(summary.placements[tier]),
                        tier_name(Tier(tier)));
  }
  return text;
}

// "12 events ignored, 3 starts failed"; empty in an exact world.
std::string open_world_text(const OpenWorldSummary& world) {
  const std::pair<std::int64_t, std::string_view> counts[] = {
      {world.events_ignored, "events ignored"},
      {world.starts_failed, "starts failed"},
      {world.stops_failed, "stops failed"},
      {world.skips, "skips of wake-ups"},
      {world.held, "jobs held at the end"}};
  std::string text;
  for (const auto& [count, what] : counts) {
    if (count == 0) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count_text(count), what);
  }
  return text;
}

// "12.3 kWh of jobs, 4.5 kWh idle"; empty if it is not known.
std::string cost_text(const std::optional<double>& jobs, const std::optional<double>& idle,
                      std::string_view unit) {
  if (!jobs) return "";
  const auto amount = [&](double value) { return number_text(value, 1) + std::string(unit); };
  return fmt::format("{} of jobs{}", amount(*jobs),
                     idle ? fmt::format(", {} idle", amount(*idle)) : "");
}

std::string fairness_text(const FairnessSummary& fairness) {
  return fmt::format("Jain {}, worst user short by {} of its share, FTF max {} p99 {} p50 {}",
                     ratio_text(fairness.jain), share_text(fairness.effective_shortfall_max),
                     ratio_text(fairness.bounded_ftf_max), ratio_text(fairness.bounded_ftf_p99),
                     ratio_text(fairness.bounded_ftf_p50));
}

// ", of the 3 jobs that finished"; empty if all did.
std::string coverage_text(const Summary& summary) {
  if (summary.finished == summary.jobs_read) return "";
  return fmt::format(", of the {} job{} that finished", count_text(summary.finished),
                     summary.finished == 1 ? "" : "s");
}

std::string figures_text(const Summary& summary, TimeUnits units) {
  const auto time = [&](const std::optional<double>& s) { return time_text(s, units); };
  const std::pair<std::string_view, std::string> lines[] = {
      {"jobs", jobs_text(summary)},
      {"rows", count_text(summary.rows_read) + " read" +
                   reasons_text(summary.rows_rejected, "left out") +
                   reasons_text(summary.rows_repaired, "repaired")},
      {"makespan", bounded_text(summary.makespan_s, summary.bounds.makespan_lower_s, units)},
      {"JCT", fmt::format("mean {}, median {}, p90 {}, p99 {}{}",
                          bounded_text(summary.jct_avg_s, summary.bounds.jct_avg_lower_s, units),
                          time(summary.jct_p50_s), time(summary.jct_p90_s), time(summary.jct_p99_s),
                          coverage_text(summary))},
      {"queueing", fmt::format("mean {}", time(summary.queue_avg_s))},
      {"GPUs", fmt::format("{} utilised, {} GPU-hours, {} of the time lost to communication",
                           share_text(summary.gpu_utilization), number_text(summary.gpu_hours, 1),
                           share_text(summary.comm_time_share))},
      {"energy", cost_text(summary.cost.energy_jobs_kwh, summary.cost.energy_idle_kwh, " kWh")},
      {"cost", cost_text(summary.cost.jobs, summary.cost.idle, "")},
      {"moves", fmt::format("{} preemptions, {} migrations", count_text(summary.preemptions),
                            count_text(summary.migrations))},
      {"gangs", placements_text(summary)},
      {"fairness", fairness_text(summary.fairness)},
      {"world", open_world_text(summary.open_world)},
      {"journal", summary.journal_hash}};
  std::string text;
  for (const auto& [name, value] : lines) {
    if (value.empty()) continue;
    text += named_line(name, value);
  }
  return text;
}

// In contended time, in effective GPU time.
std::optional<double> share_received(const UserSummary& user) {
  if (user.contended_entitled_gpu_hours <= 0) return std::nullopt;
  return user.contended_effective_gpu_hours / user.contended_entitled_gpu_hours;
}

std::string users_text(const Summary& summary, TextStyle style, TimeUnits units) {
  std::vector<const UserSummary*> users;
  for (const UserSummary& user : summary.users) users.push_back(&user);
  std::ranges::stable_sort(users, std::ranges::greater(),
                           [](const UserSummary* user) { return user->gpu_hours; });
  Table table({{"user", Align::kLeft},
               {"tickets"},
               {"jobs"},
               {"GPU-h"},
               {"entitled"},
               {"share"},
               {"JCT mean"},
               {"queueing"},
               {"FTF max"}});
  for (std::size_t i = 0; i < std::min(users.size(), kUsersShown); ++i) {
    const UserSummary& user = *users[i];
    table.add_row({user.user, count_text(user.tickets), count_text(user.jobs),
                   number_text(user.gpu_hours, 1), number_text(user.entitled_gpu_hours, 1),
                   share_text(share_received(user)), time_text(user.jct_avg_s, units),
                   time_text(user.queue_avg_s, units), ratio_text(user.bounded_ftf_max)});
  }
  std::string text = table.text(style, kScreenColumns);
  if (users.size() > kUsersShown) {
    text += fmt::format("... and {} more users in users.csv\n",
                        count_text(static_cast<std::int64_t>(users.size() - kUsersShown)));
  }
  return text;
}

std::string groups_text(const Summary& summary, TextStyle style) {
  Table table({{"group", Align::kLeft},
               {"tickets"},
               {"quota"},
               {"users"},
               {"jobs"},
               {"GPU-hours"},
               {"entitled"},
               {"held"}});
  for (const GroupSummary& group : summary.groups) {
    const std::optional<double> allocated =
        group.entitled_gpu_hours > 0 ? std::optional(group.gpu_hours / group.entitled_gpu_hours)
                                     : std::nullopt;
    table.add_row({group.group, count_text(group.tickets),
                   group.quota == 0 ? "-" : count_text(group.quota), count_text(group.users),
                   count_text(group.jobs), number_text(group.gpu_hours, 1),
                   number_text(group.entitled_gpu_hours, 1), share_text(allocated)});
  }
  return table.text(style, kScreenColumns);
}

}  // namespace

bool is_computed_network(std::string_view network) {
  return !network.empty() && network != "profiled";
}

std::string remarks_text(const RemarkedRun& run) {
  std::string text;
  if (is_computed_network(run.network) && run.models_communicating == 0) {
    text += fmt::format(
        "note      network={} changes nothing: the communication of no job's model is known "
        "(--set models=wang draws such models)\n",
        run.network);
  }
  return text;
}

std::string assumed_text(const std::vector<AssumedLine>& lines, TextStyle style) {
  if (lines.empty()) return {};
  std::string text = "\nAssumed\n";
  for (const AssumedLine& line : lines) {
    const bool rows = line.about.starts_with("rows");
    const std::string_view unit = line.jobs == 1 ? (rows ? "row" : "job") : rows ? "rows" : "jobs";
    const bool is_red = line.is_grave && style == TextStyle::kTerminal;
    text += fmt::format("{}{} {:<14}{} ({} {}){}\n", is_red ? "\x1b[31m" : "",
                        line.is_grave ? '!' : ' ', line.about, printable(line.text),
                        count_text(line.jobs), unit, is_red ? "\x1b[0m" : "");
  }
  return text;
}

std::string summary_text(const Summary& summary, TextStyle style, TimeUnits units) {
  const std::string options = summary.options.empty() ? "" : " (" + summary.options + ")";
  std::string text =
      fmt::format("{}{} on {}, {}", summary.policy, options, summary.cluster, summary.trace);
  for (const auto& [key, value] : summary.settings) text += fmt::format(", {}={}", key, value);
  text += "\n" + figures_text(summary, units);
  const auto network = summary.settings.find("network");
  text += remarks_text({.models_communicating = summary.models_communicating,
                        .network = network == summary.settings.end() ? "" : network->second});
  text += assumed_text(assumed_lines(summary), style);
  if (!summary.groups.empty()) text += "\n" + groups_text(summary, style);
  if (!summary.users.empty()) text += "\n" + users_text(summary, style, units);
  return text;
}

}  // namespace fairlead
