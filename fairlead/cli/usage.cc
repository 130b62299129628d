// `fairlead usage`: the GPU time that users had.

#include "fairlead/base/parse.h"
#include "fairlead/base/time_text.h"
#include "fairlead/cli/commands.h"
#include "fairlead/cli/kubernetes.h"
#include "fairlead/client/answers.h"
#include "fairlead/journal/journal.h"
#include "fairlead/live/views.h"
#include "fairlead/report/json.h"
#include "fairlead/report/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <utility>

namespace fairlead {
namespace {

constexpr double kDayS = 86'400;

struct Flags {
  QueryFlags source;
  std::string folder;
  std::string since = "30d";
  std::string by = "user";
  bool json = false;
};

// Returns the seconds of "90m", "30d" or "1.month".
Result<double> span_s(const std::string& text) {
  constexpr std::pair<std::string_view, double> kUnits[] = {
      {"day", 1}, {"week", 7}, {"month", 30}, {"year", 365}};
  const std::size_t dot = std::min(text.find('.'), text.size());
  const auto count = parse_integer(std::string_view(text).substr(0, dot));
  std::string_view unit = std::string_view(text).substr(std::min(dot + 1, text.size()));
  if (unit.ends_with('s')) unit.remove_suffix(1);
  const auto* known = std::ranges::find(kUnits, unit, [](const auto& pair) { return pair.first; });
  if (count && *count > 0 && known != std::end(kUnits))
    return static_cast<double>(*count) * known->second * kDayS;
  return parse_span_s(text);
}

// A journal as it is read: the tables, and the GPU time.
struct Past : RecordSink {
  void on(const Record& record) override {
    tables.apply(record);
    book.on(record);
  }
  Tables tables{Cluster()};
  UsageBook book{tables};
};

// Returns the answer of a folder's journal, counted back from its last record. Journals that a daemon still writes, or
// that were cut off, count up to their last record.
Result<nlohmann::json> usage_of(const std::string& folder, double last_s) {
  Past past;
  const std::filesystem::path path = std::filesystem::path(folder) / kJournalName;
  FL_TRY_ASSIGN(end, read_journal(path, past));
  if (end.state == JournalEnd::State::kDamaged) return run_error("{}", end.problem);
  const Duration span{std::llround(last_s * 1000)};
  const Time from = end.last - Time{} > span ? end.last - span : Time{};
  return usage_json(past.tables, past.book.between(from, end.last));
}

struct Grouping {
  std::string_view name;
  std::string_view header;
  std::string UsageAnswer::*key;
};
constexpr Grouping kGroupings[] = {{"user", "USER", &UsageAnswer::user},
                                   {"model", "MODEL", &UsageAnswer::model},
                                   {"type", "TYPE", &UsageAnswer::gpu_type}};

// REQUIRES: `by` is the name of a grouping.
std::string usage_text(const std::vector<UsageAnswer>& usage, std::string_view by,
                       TextStyle style) {
  const Grouping& grouping = *std::ranges::find(kGroupings, by, &Grouping::name);
  struct Sum {
    double all_s = 0;
    double foreign_s = 0;  // a part of all
  };
  std::map<std::string, Sum> sums;
  Sum all;
  for (const UsageAnswer& use : usage) {
    for (Sum* sum : {&sums[use.*grouping.key], &all}) {
      sum->all_s += use.gpu_s;
      sum->foreign_s += use.is_foreign ? use.gpu_s : 0;
    }
  }
  std::vector<std::pair<std::string, Sum>> rows(sums.begin(), sums.end());
  std::ranges::stable_sort(rows, std::greater(), [](const auto& row) { return row.second.all_s; });
  const bool any_foreign = all.foreign_s > 0;
  std::vector<Table::Column> columns = {
      {std::string(grouping.header), Align::kLeft}, {"GPU HOURS"}, {"SHARE"}};
  if (any_foreign) columns.push_back({"FOREIGN"});
  Table table(std::move(columns));
  for (const auto& [key, sum] : rows) {
    std::vector<std::string> cells = {key.empty() ? "(none)" : key,
                                      number_text(sum.all_s / 3600, 2),
                                      percent_text(all.all_s == 0 ? 0 : sum.all_s / all.all_s)};
    if (any_foreign) cells.push_back(number_text(sum.foreign_s / 3600, 2));
    table.add_row(std::move(cells));
  }
  return fmt::format("{}{} GPU-hours in all{}\n", table.text(style),
                     number_text(all.all_s / 3600, 2),
                     any_foreign ? "; FOREIGN: of processes outside of the user's jobs" : "");
}

Status usage(const Flags& flags) {
  FL_TRY_ASSIGN(last_s, span_s(flags.since));
  nlohmann::json answer;
  if (flags.folder.empty()) {
    FL_TRY_ASSIGN(daemon, connect(flags.source));
    FL_TRY_ASSIGN(received, daemon.get(fmt::format("/v1/usage?last_s={}", last_s)));
    answer = std::move(received);
  } else {
    FL_TRY_ASSIGN(read, usage_of(flags.folder, last_s));
    answer = std::move(read);
  }
  fmt::print("{}", flags.json ? json_text(answer)
                              : usage_text(usage_answers(answer), flags.by, stdout_style()));
  return {};
}

}  // namespace

Command add_usage(CLI::App& root) {
  CLI::App* app = root.add_subcommand("usage", "Show the GPU time that users had");
  const auto flags = std::make_shared<Flags>();
  app->add_option(
      "DIR", flags->folder,
      "folder of a daemon's state or of results, which is read instead (default: ask the "
      "daemon)");
  app->add_option(
         "--since", flags->since,
         "how far back: 12h, 30d, 2.weeks, 1.month (of 30 days); of a folder, from its last "
         "record (default: 30d)")
      ->type_name("TIME");
  app->add_option("--by", flags->by, "a row for each user, model or type of GPU (default: user)")
      ->check(CLI::IsMember({"user", "model", "type"}).description(""))
      ->type_name("user|model|type");
  app->add_flag("--json", flags->json, "print JSON instead of a table");
  add_query_flags(*app, flags->source);
  app->footer(
      "Examples:\n"
      "  fairlead usage --since 1.month --by user\n"
      "  fairlead usage /var/lib/fairlead --since 1.year --by model\n");
  return {app, [flags] { return usage(*flags); }};
}

}  // namespace fairlead
