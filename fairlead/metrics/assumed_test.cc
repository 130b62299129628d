#include "fairlead/metrics/assumed.h"

#include <gtest/gtest.h>

namespace fairlead {
namespace {

Summary summary_of_jobs(std::int64_t jobs) {
  Summary summary;
  summary.rows_read = jobs;
  summary.jobs_read = jobs;
  return summary;
}

TEST(Assumed, IsEmptyWhereTheInputsSaidEverything) {
  Summary summary = summary_of_jobs(100);
  summary.assumed.trace.format = "native";  // which --format named
  summary.assumed.reference_type = "V100";
  summary.assumed.reference_is_named = true;
  summary.assumed.reference_jobs = 100;
  EXPECT_TRUE(assumed_lines(summary).empty());
}

TEST(Assumed, SpeedsAreGraveAboveOnePercentOfTheJobs) {
  Summary summary = summary_of_jobs(1000);
  summary.assumed.speeds = {{"GRU", "A100", "as slow as on its slowest type", 10}};
  const AssumedLine few = {"speeds", "GRU on A100: as slow as on its slowest type", 10, false};
  EXPECT_EQ(assumed_lines(summary), std::vector{few});
  summary.assumed.speeds[0].jobs = 11;
  EXPECT_TRUE(assumed_lines(summary).at(0).is_grave);
}

TEST(Assumed, ShowsTheSpeedsOfMostJobsAndCountsTheRest) {
  Summary summary = summary_of_jobs(1000);
  for (std::int64_t i = 1; i <= 7; ++i) {
    summary.assumed.speeds.push_back({"m" + std::to_string(i), "T4", "guessed", i});
  }
  const std::vector<AssumedLine> lines = assumed_lines(summary);
  ASSERT_EQ(lines.size(), 6U);
  EXPECT_EQ(lines[0].text, "m7 on T4: guessed");
  EXPECT_EQ(lines[5].text, "2 more models and GPU types");
  EXPECT_EQ(lines[5].jobs, 2);
}

TEST(Assumed, RowsThatAreNoJobsAreNotGrave) {
  Summary summary = summary_of_jobs(100);
  summary.rows_read = 200;
  summary.rows_rejected = {{"no GPU", 99}, {"odd", 1}};
  summary.rows_skipped = 99;
  const std::vector<AssumedLine> lines = assumed_lines(summary);
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0], (AssumedLine{"rows left out", "99 no GPU, 1 odd", 100, false}));
  summary.rows_skipped = 98;
  EXPECT_TRUE(assumed_lines(summary).at(0).is_grave) << "2 of 102";
}

TEST(Assumed, TellsHowTheTraceWasRead) {
  Summary summary = summary_of_jobs(3);
  summary.assumed.trace = {.format = "helios",
                           .is_recognised = true,
                           .times = "taken as UTC",
                           .columns_read = {"job=Id", "gpus=N"},
                           .columns_ignored = {"vc", "node_num"},
                           .states = {{"COMPLETED", 1}, {"CANCELLED", 2}}};
  summary.assumed.reference_type = "V100";
  summary.assumed.reference_jobs = 3;
  const std::vector<AssumedLine> expected = {
      {"reference", "durations are those on V100, the fastest type", 3, false},
      {"format", "helios, recognised by its content", 3, false},
      {"times", "taken as UTC", 3, false},
      {"states", "2 CANCELLED, 1 COMPLETED: each counts with the time that it ran", 3, false},
      {"columns", "read as job=Id, gpus=N", 3, false},
      {"columns", "ignored: vc, node_num", 3, false}};
  EXPECT_EQ(assumed_lines(summary), expected);
}

TEST(Assumed, WhatIsOddComesFirst) {
  Summary summary = summary_of_jobs(20);
  summary.models_unknown = 20;
  summary.assumed.implausible = {"the median duration is 2.0 years"};
  const std::vector<AssumedLine> lines = assumed_lines(summary);
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0], (AssumedLine{"odd", "the median duration is 2.0 years", 20, true}));
}

}  // namespace
}  // namespace fairlead
