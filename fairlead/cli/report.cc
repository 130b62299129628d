// `fairlead report`.

#include "fairlead/cli/commands.h"
#include "fairlead/cli/run.h"
#include "fairlead/journal/checked_journal.h"
#include "fairlead/replay/why.h"
#include "fairlead/report/json.h"
#include "fairlead/report/report_data.h"
#include "fairlead/report/report_page.h"
#include "fairlead/report/report_runs.h"
#include "fairlead/report/result_files.h"
#include "fairlead/report/table.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <span>

namespace fairlead {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kJobsExplained = 100;  // per run: the jobs that waited most

struct Flags {
  std::string folder;
  std::string output;  // empty: report.html in the folder
  std::string page;    // empty: the program's own
};

constexpr std::string_view kHelp =
    "DIR is a result folder of simulate, or the folder of compare, or of one case of an\n"
    "experiment of reproduce; policies are then shown side by side. For several seeds the page\n"
    "has the mean and range of each figure, and details of the first seed; for a sweep it has\n"
    "all points, and details of the first.\n"
    "The page is one self-contained file that needs no network.\n"
    "\n"
    "Examples:\n"
    "  fairlead report out                      writes out/report.html\n"
    "  fairlead report out/cmp -o cmp.html\n";

Result<std::string> read_page(const std::string& path) {
  std::string text;
  if (path.empty()) return std::string(report_page_text());
  FL_TRY_ASSIGN(source, ByteSource::open(path));
  for (;;) {
    FL_TRY_ASSIGN(bytes, source.peek(1));
    if (bytes.empty()) return text;
    text += bytes;
    source.consume(bytes.size());
  }
}

// The last part of the folder's path, also of "." and "out/".
std::string title_of(const fs::path& folder) {
  std::error_code error;
  fs::path path = fs::weakly_canonical(folder, error);
  if (error) path = folder;
  return path.filename().string();
}

// Empty if there is no such text.
std::string text_of(const nlohmann::json& facts, const char* key) {
  const auto found = facts.find(key);
  return found != facts.end() && found->is_string() ? found->get<std::string>() : std::string();
}

// Returns the program that made a run; empty if run.json does not name it.
std::string program_of(const nlohmann::json& facts) {
  const std::string made_by = text_of(facts, "version");
  return made_by.empty() ? "" : program_text(made_by, text_of(facts, "commit"));
}

void print_what_is_left_out(const ReportedRuns& found) {
  if (!found.first_point.empty()) {
    fmt::print("details of the first point, {}; the figures of all points\n", found.first_point);
  }
  if (found.seeds_left_out > 0) {
    fmt::print("details of the first seed of each policy only; {} other runs are figures\n",
               count_text(found.seeds_left_out));
  }
}

Status report(const Flags& flags) {
  FL_TRY_ASSIGN(page, read_page(flags.page));
  const fs::path folder = flags.folder;
  FL_TRY_ASSIGN(found, find_runs(folder));
  const fs::path output = flags.output.empty() ? folder / "report.html" : fs::path(flags.output);
  FL_TRY_ASSIGN(html, ReportPage::create(output, page));
  ReportData data([&](std::string_view json) { html.write(json); }, title_of(folder));
  std::size_t jobs = 0;
  for (const ReportedRun& run : found.runs) {
    const fs::path run_folder = (folder / run.folder).lexically_normal();
    FL_TRY_ASSIGN(summary, read_summary(run_folder));
    RunRecords records;
    WaitTotals totals;
    Tee tee({&records, &totals});
    const fs::path journal = run_folder / kJournalName;
    FL_TRY_ASSIGN(end, read_checked_journal(journal, tee));
    FL_TRY(check_journal_of(summary, journal, end));
    FL_TRY_ASSIGN(waits, waits_to_report(journal.string(), totals, kJobsExplained));
    const nlohmann::json facts = read_run_facts(run_folder);
    FL_TRY(data.add({.folder = run.folder,
                     .label = run.label,
                     .summary = summary,
                     .records = records,
                     .waits = &waits,
                     .inputs_hash = text_of(facts, "inputs_hash"),
                     .command = text_of(facts, "command"),
                     .program = program_of(facts)}));
    jobs = records.jobs().size();
  }
  data.finish(found.points, found.answer);
  FL_TRY_ASSIGN(bytes, html.commit());
  constexpr double kMb = 1e6;
  fmt::print("{}: {} of {} job{}, {} MB\n", output.string(),
             found.runs.size() == 1 ? "1 run" : fmt::format("{} runs", found.runs.size()),
             count_text(static_cast<std::int64_t>(jobs)), jobs == 1 ? "" : "s",
             number_text(static_cast<double>(bytes) / kMb, 1));
  print_what_is_left_out(found);
  return {};
}

}  // namespace

Command add_report(CLI::App& root) {
  CLI::App* app = root.add_subcommand("report", "Write an HTML page about finished runs");
  const auto flags = std::make_shared<Flags>();
  app->add_option("DIR", flags->folder, "folder of results")->required();
  app->add_option("-o,--output", flags->output, "output file (default: DIR/report.html)")
      ->type_name("FILE");
  app->add_option("--page", flags->page,
                  fmt::format("an HTML page of your own; its text {} is replaced by the data, "
                              "gzipped and in base64 (docs/formats.md)",
                              kReportPlaceholder))
      ->type_name("FILE");
  app->footer(std::string(kHelp));
  return {app, [flags] { return report(*flags); }};
}

}  // namespace fairlead
