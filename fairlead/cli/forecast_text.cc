#include "fairlead/cli/forecast_text.h"

#include "fairlead/base/printable.h"
#include "fairlead/cli/folder_lock.h"
#include "fairlead/cli/live_text.h"
#include "fairlead/cli/run.h"
#include "fairlead/compare/comparison.h"
#include "fairlead/compare/sweep.h"
#include "fairlead/report/json.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <ctime>

namespace fairlead {
namespace {

using nlohmann::json;

std::string time_text(const std::optional<double>& s) {
  return s ? span_text(static_cast<std::int64_t>(*s * 1000)) : "-";
}

std::string label(const std::string& policy, bool runs_now) {
  return runs_now ? policy.substr(0, policy.find(':')) + " (now)" : policy;
}

std::string policies_text(const std::vector<WhatIf>& outcomes, TextStyle style) {
  Table table({{"POLICY", Align::kLeft},
               {"MEAN END IN"},
               {"90 % END IN"},
               {"LAST ENDS IN"},
               {"LONGEST WAIT"},
               {"END"}});
  for (const WhatIf& outcome : outcomes) {
    table.add_row({label(outcome.policy, outcome.runs_now), time_text(outcome.end_mean_s),
                   time_text(outcome.end_p90_s), time_text(outcome.end_last_s),
                   time_text(outcome.wait_max_s),
                   fmt::format("{} of {}", outcome.ended, outcome.jobs)});
  }
  return table.text(style);
}

std::string users_text(const std::vector<WhatIf>& outcomes, TextStyle style) {
  std::vector<Table::Column> columns = {{"MEAN END IN", Align::kLeft}, {"JOBS"}};
  for (const WhatIf& outcome : outcomes)
    columns.push_back({label(outcome.policy, outcome.runs_now)});
  Table table(columns);
  for (std::size_t i = 0; i < outcomes.front().users.size(); ++i) {
    const WhatIf::User& user = outcomes.front().users[i];
    std::vector<std::string> cells = {user.user, count_text(user.jobs)};
    for (const WhatIf& outcome : outcomes) cells.push_back(time_text(outcome.users[i].end_mean_s));
    table.add_row(cells);
  }
  return table.text(style);
}

json number(const std::optional<double>& value) { return value ? json(*value) : json(nullptr); }

json range(const std::optional<SecondsRange>& value) {
  return value ? json{value->least_s, value->most_s} : json(nullptr);
}

json guesses_json(const std::vector<TimeLeft>& guesses) {
  json lines = json::array();
  for (const TimeLeft& left : guesses) {
    lines.push_back({{"job", left.job},
                     {"left_s", left.s},
                     {"range_s", range(left.range)},
                     {"source", left.source}});
  }
  return lines;
}

// Returns "16:10", with the day if it is another.
std::string clock_text(std::int64_t unix_ms, std::int64_t now_unix_ms) {
  const std::time_t then = unix_ms / 1000;
  const std::time_t now = now_unix_ms / 1000;
  std::tm day_then{};
  std::tm day_now{};
  localtime_r(&then, &day_then);
  localtime_r(&now, &day_now);
  const bool is_today = day_then.tm_yday == day_now.tm_yday && day_then.tm_year == day_now.tm_year;
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), is_today ? "%H:%M" : "%Y-%m-%d %H:%M", &day_then);
  return text.data();
}

std::string instant_text(double s, std::int64_t now_unix_ms) {
  const auto ms = static_cast<std::int64_t>(s * 1000);
  return fmt::format("in {} ({})", span_text(ms), clock_text(now_unix_ms + ms, now_unix_ms));
}

std::string range_text(const SecondsRange& range) {
  const std::string least = time_text(range.least_s);
  const std::string most = time_text(range.most_s);
  return least == most ? most : fmt::format("{} to {}", least, most);
}

}  // namespace

std::string forecast_text(const Forecast& forecast, std::string_view subject,
                          std::int64_t now_unix_ms) {
  std::string text = fmt::format("{} ", subject);
  if (!forecast.start_s || !forecast.end_s) {
    text += "does not end with the current GPUs, if no other job comes\n";
  } else {
    if (!forecast.runs && *forecast.start_s <= 0) text += "starts now and ";
    if (*forecast.start_s > 0)
      text += fmt::format("starts {} and ", instant_text(*forecast.start_s, now_unix_ms));
    text +=
        fmt::format("ends {}, if no other job comes\n", instant_text(*forecast.end_s, now_unix_ms));
  }
  if (!forecast.start_range || !forecast.end_range) return text;
  text += "It ";
  if (!forecast.runs) text += fmt::format("starts in {} and ", range_text(*forecast.start_range));
  text += fmt::format(
      "ends in {} if jobs take as long as the shortest or the longest tenth of similar jobs\n",
      range_text(*forecast.end_range));
  return text;
}

std::string forecast_json(const Forecast& forecast, const JobAnswer& job) {
  return json_text({{"job", job.id},
                    {"name", job.name},
                    {"start_s", number(forecast.start_s)},
                    {"end_s", number(forecast.end_s)},
                    {"start_range_s", range(forecast.start_range)},
                    {"end_range_s", range(forecast.end_range)},
                    {"guesses", guesses_json(forecast.guesses)}});
}

std::string guesses_text(const std::vector<TimeLeft>& guesses) {
  std::string text;
  for (const TimeLeft& left : guesses) {
    text += fmt::format("  job {} still takes {}{}: {}\n", left.job,
                        span_text(static_cast<std::int64_t>(left.s * 1000)),
                        left.range ? fmt::format(" ({})", range_text(*left.range)) : "",
                        printable(left.source));
  }
  return text;
}

std::string whatif_tables(const std::vector<WhatIf>& outcomes, TextStyle style) {
  return fmt::format("If no other job comes:\n\n{}\n{}", policies_text(outcomes, style),
                     users_text(outcomes, style));
}

std::string whatif_notes(const std::vector<TimeLeft>& guesses) {
  return "This guesses that every policy starts from scratch, and that\n" + guesses_text(guesses);
}

std::string whatif_json(const QueueNow& queue, const std::vector<WhatIf>& outcomes) {
  json policies = json::array();
  for (const WhatIf& outcome : outcomes) {
    json users = json::array();
    for (const WhatIf::User& user : outcome.users) {
      users.push_back(
          {{"user", user.user}, {"jobs", user.jobs}, {"end_mean_s", number(user.end_mean_s)}});
    }
    policies.push_back({{"policy", outcome.policy},
                        {"runs_now", outcome.runs_now},
                        {"jobs", outcome.jobs},
                        {"jobs_ended", outcome.ended},
                        {"end_mean_s", number(outcome.end_mean_s)},
                        {"end_p90_s", number(outcome.end_p90_s)},
                        {"end_last_s", number(outcome.end_last_s)},
                        {"wait_max_s", number(outcome.wait_max_s)},
                        {"users", std::move(users)}});
  }
  return json_text({{"policies", std::move(policies)}, {"guesses", guesses_json(queue.left)}});
}

Status write_whatif(const QueueNow& queue, const std::vector<std::string>& policies,
                    const std::filesystem::path& out) {
  FolderLock lock;  // released after `folder` removed the remains of an error
  FL_TRY_ASSIGN(folder, ResultFolder::open(out));
  FL_TRY(lock.take(out));
  std::vector<std::string> labels;
  labels.reserve(policies.size());
  for (const std::string& policy : policies)
    labels.push_back(label(policy, policy == queue.policy));
  const std::vector<std::string> names = folder_names(labels);
  ComparedPoint point;
  for (std::size_t i = 0; i < policies.size(); ++i) {
    FL_TRY_ASSIGN(inputs, inputs_of(queue, policies[i]));
    FL_TRY_ASSIGN(ran, run_simulation(std::move(inputs), {.folder = out / names[i]}));
    point.policies.push_back({labels[i], names[i], {to_json_value(ran.summary)}});
  }
  FL_TRY_ASSIGN(file, OutputFile::create(folder.file("compare.json")));
  file.write(comparison_json(point, 1, {.refused = "one queue has no other days"}));
  FL_TRY(folder.add(std::move(file), "compare.json"));
  return folder.keep();
}

}  // namespace fairlead
