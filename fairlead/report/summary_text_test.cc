#include "fairlead/report/summary_text.h"

#include <gtest/gtest.h>

#include <sstream>

namespace fairlead {
namespace {

TEST(SummaryText, TellsHowFarTimesAreFromTheirLowerBounds) {
  Summary summary;
  summary.makespan_s = 9000;
  summary.jct_avg_s = 150;
  summary.bounds = {.makespan_lower_s = 8000, .jct_avg_lower_s = 100};
  const std::string text = summary_text(summary, TextStyle::kPlain);
  EXPECT_NE(text.find("makespan  2 h 30 min (1.12 x the lower bound of 2 h 13 min)\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("mean 2 min 30 s (1.50 x the lower bound of 1 min 40 s), median -"),
            std::string::npos)
      << text;
  const std::string in_seconds = summary_text(summary, TextStyle::kPlain, TimeUnits::kSeconds);
  EXPECT_NE(in_seconds.find("makespan  9,000.0 s (1.12 x the lower bound of 8,000.0 s)\n"),
            std::string::npos)
      << in_seconds;
}

TEST(SummaryText, FitsAScreen) {
  Summary summary;
  summary.makespan_s = 9000;
  summary.jct_avg_s = 5'000'000;
  summary.jct_p50_s = summary.jct_p90_s = summary.jct_p99_s = 700'000;
  summary.bounds = {.makespan_lower_s = 8000, .jct_avg_lower_s = 4'000'000};
  summary.users = {{.user = "a user with a long name", .gpu_hours = 1e7, .jct_avg_s = 1e5}};
  std::istringstream lines(summary_text(summary, TextStyle::kPlain));
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), kScreenColumns) << line;
}

TEST(SummaryText, NamesTheSettingsAndWhatTheyDoNotReach) {
  Summary summary;
  summary.policy = "fifo";
  summary.cluster = "lab";
  summary.trace = "jobs.csv";
  summary.jobs_read = 11;
  const auto text = [&] { return summary_text(summary, TextStyle::kPlain); };
  EXPECT_EQ(text().find("note"), std::string::npos) << text();
  summary.models_unknown = 10;
  summary.settings = {{"models", "wang"}, {"network", "contention"}};
  EXPECT_TRUE(text().starts_with("fifo on lab, jobs.csv, models=wang, network=contention\n"));
  EXPECT_NE(
      text().find("\nAssumed\n! speeds        1 on every GPU: the table of models does not have "
                  "theirs (else: --set unknown_speed=generic) (10 jobs)\n"),
      std::string::npos)
      << text();
  EXPECT_NE(text().find("note      network=contention changes nothing"), std::string::npos);
  summary.models_communicating = 1;
  EXPECT_EQ(text().find("changes nothing"), std::string::npos);
}

TEST(SummaryText, ShowsInRedWhatConcernsMoreThanOnePercent) {
  const std::vector<AssumedLine> lines = {{"speeds", "one", 2, true}, {"times", "two", 1, false}};
  EXPECT_EQ(assumed_text(lines, TextStyle::kPlain),
            "\nAssumed\n! speeds        one (2 jobs)\n  times         two (1 job)\n");
  EXPECT_EQ(
      assumed_text(lines, TextStyle::kTerminal),
      "\nAssumed\n\x1b[31m! speeds        one (2 jobs)\x1b[0m\n  times         two (1 job)\n");
  EXPECT_EQ(assumed_text({}, TextStyle::kTerminal), "");
}

TEST(SummaryText, HasARowPerGroup) {
  Summary summary;
  summary.groups = {{.group = "lab",
                     .tickets = 2,
                     .quota = 16,
                     .users = 3,
                     .jobs = 40,
                     .gpu_hours = 90,
                     .entitled_gpu_hours = 100}};
  const std::string text = summary_text(summary, TextStyle::kPlain);
  EXPECT_NE(text.find("lab          2     16      3    40       90.0     100.0"), std::string::npos)
      << text;
}

TEST(SummaryText, SaysNothingOfBoundsThatAreNotKnown) {
  Summary summary;
  summary.makespan_s = 9000;
  const std::string text = summary_text(summary, TextStyle::kPlain);
  EXPECT_NE(text.find("makespan  2 h 30 min\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("bound"), std::string::npos) << text;
}

}  // namespace
}  // namespace fairlead
