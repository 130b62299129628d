// Real-world job logs: each file of tests/data/logs is read with the flags of its row in docs/logs.md. The row has the
// outcome, and tests/data/logs.expected has every job. UPDATE_GOLDEN=1 rewrites both.

#include "fairlead/base/testing_docs.h"
#include "fairlead/trace/plausible.h"
#include "fairlead/trace/read_flags.h"
#include "fairlead/trace/testing.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

namespace fairlead {
namespace {

const std::string kFolder = "tests/data/logs/";
const std::string kExpected = "tests/data/logs.expected";
const std::string kPage = "docs/logs.md";
constexpr std::string_view kHeader = "| file | what it is | flags | what comes of it |";

// A cell of the page: its code marks are left out, and `&#124;` is a bar.
std::string plain(std::string cell) {
  std::erase(cell, '`');
  for (std::size_t at = 0; (at = cell.find("&#124;", at)) != cell.npos; ++at) {
    cell.replace(at, 6, "|");
  }
  return cell;
}

std::string as_cell(std::string text) {
  for (std::size_t at = 0; (at = text.find('|', at)) != text.npos; at += 6) {
    text.replace(at, 1, "&#124;");
  }
  return text;
}

// Returns the words of a command line; a word in single quotes may contain blanks.
std::vector<std::string> words_of(std::string_view line) {
  std::vector<std::string> words;
  bool quoted = false;
  bool open = false;
  for (const char c : line) {
    if (c == '\'') quoted = !quoted;
    if (c == '\'' || (c == ' ' && !quoted)) {
      open = open && c != ' ';
      continue;
    }
    if (!open) words.emplace_back();
    open = true;
    words.back() += c;
  }
  return words;
}

ReadFlags flags_of(std::string_view line) {
  ReadFlags flags;
  const std::map<std::string, std::string*> known = {{"--format", &flags.format},
                                                     {"--columns", &flags.columns},
                                                     {"--unit", &flags.unit},
                                                     {"--delimiter", &flags.delimiter},
                                                     {"--decimal", &flags.decimal},
                                                     {"--dates", &flags.dates},
                                                     {"--from", &flags.from},
                                                     {"--to", &flags.to},
                                                     {"--users", &flags.users},
                                                     {"--sample", &flags.sample},
                                                     {"--utc-offset", &flags.utc_offset}};
  const std::vector<std::string> words = words_of(line);
  EXPECT_EQ(words.size() % 2, 0U) << line;
  for (std::size_t i = 0; i + 1 < words.size(); i += 2) {
    const auto flag = known.find(words[i]);
    if (flag != known.end()) {
      *flag->second = words[i + 1];
    } else {
      EXPECT_EQ(words[i], "--where");
      flags.where.push_back(words[i + 1]);
    }
  }
  return flags;
}

// Reads a file as a run would: it refuses a file with more than 1 % bad rows.
Result<Workload> read_log(const std::string& file, const std::string& flags) {
  FL_TRY_ASSIGN(options, read_options(flags_of(flags)));
  FL_TRY_ASSIGN(workload, read_trace(kFolder + file, options));
  FL_TRY(check_rejected(workload));
  return workload;
}

std::string counts_text(const testing::Counts& counts) {
  std::string text;
  for (const auto& [what, count] : counts)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, what);
  return text;
}

std::string outcome(const Result<Workload>& workload) {
  if (!workload) {
    std::string message = workload.error().message;
    if (message.starts_with(kFolder)) message.erase(0, kFolder.size());
    if (const std::size_t at = message.find("is " + kFolder); at != message.npos)
      message.erase(at + 3, kFolder.size());
    return "refused: " + message;
  }
  const auto jobs = workload->jobs.size();
  std::string text =
      fmt::format("{}: {} job{}", workload->reading.format, jobs, jobs == 1 ? "" : "s");
  if (const std::string left_out = counts_text(workload->rows.rows_rejected); !left_out.empty())
    text += "; left out: " + left_out;
  if (const std::string repaired = counts_text(workload->rows.rows_repaired); !repaired.empty())
    text += "; repaired: " + repaired;
  return text;
}

// Everything that was read, in lines.
std::string details(const Result<Workload>& workload) {
  if (!workload) return "";
  const TraceReading& reading = workload->reading;
  std::string text;
  if (!reading.times.empty()) text += fmt::format("  times: {}\n", reading.times);
  if (!reading.columns_read.empty())
    text += fmt::format("  columns: {}\n", fmt::join(reading.columns_read, ", "));
  if (!reading.columns_ignored.empty())
    text += fmt::format("  ignored: {}\n", fmt::join(reading.columns_ignored, ", "));
  if (!reading.states.empty()) text += fmt::format("  states: {}\n", counts_text(reading.states));
  for (const std::string& job : testing::jobs_of(*workload)) text += fmt::format("  {}\n", job);
  return text;
}

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

bool updates() { return std::getenv("UPDATE_GOLDEN") != nullptr; }

// The page with the outcomes in its table.
std::string page_with(const std::vector<std::string>& outcomes) {
  std::istringstream lines(text_of(kPage));
  std::string page;
  std::string line;
  bool inside = false;
  std::size_t row = 0;
  while (std::getline(lines, line)) {
    inside = (inside && line.starts_with("|")) || line == kHeader;
    if (inside && line.starts_with("| `")) {
      const std::size_t last = line.rfind('|', line.size() - 2);
      line = fmt::format("{}| {} |", line.substr(0, last), as_cell(outcomes.at(row++)));
    }
    page += line + "\n";
  }
  return page;
}

TEST(Logs, AreReadAsDocumented) {
  std::vector<std::string> outcomes;
  std::string expected;
  for (const DocRow& row : doc_table(kPage, kHeader)) {
    const std::string file = plain(row.at(0));
    const std::string flags = plain(row.at(2));
    const Result<Workload> workload = read_log(file, flags);
    const std::string found = outcome(workload);
    if (!updates()) {
      EXPECT_EQ(plain(row.at(3)), plain(found)) << file << ' ' << flags;
    }
    outcomes.push_back(found);
    expected += fmt::format("{}{}{}\n  {}\n{}", file, flags.empty() ? "" : " ", flags, found,
                            details(workload));
  }
  if (updates()) {
    const std::string page = page_with(outcomes);
    std::ofstream(kExpected) << expected;
    std::ofstream(kPage) << page;
  }
  EXPECT_EQ(text_of(kExpected), expected);
}

TEST(Logs, AreAllInTheTable) {
  std::set<std::string> in_table;
  for (const DocRow& row : doc_table(kPage, kHeader)) in_table.insert(plain(row.at(0)));
  std::set<std::string> there;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder))
    there.insert(entry.path().filename().string());
  EXPECT_EQ(in_table, there);
  EXPECT_GE(there.size(), 40U);
}

}  // namespace
}  // namespace fairlead
