#include "fairlead/trace/readers/readers.h"
#include "fairlead/trace/testing.h"
#include "fairlead/trace/trace.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace fairlead {
namespace {

using testing::Counts;
using testing::error_of;
using testing::jobs_of;
using testing::Lines;
using testing::read_text;

const ReadOptions kStrict = {.format = &kSwfFormat, .reading = Reading::kStrict};

// The fields that matter; the others are unknown.
struct Row {
  std::string_view job = "1";
  std::string_view submit = "0";
  std::string_view run_time = "60";
  std::string_view allocated = "-1";
  std::string_view requested = "4";
  std::string_view status = "1";
  std::string_view user = "3";
  std::string_view executable = "5";
};
std::string line_of(const Row& row) {
  return fmt::format("{} {} -1 {} {} -1 -1 {} -1 -1 {} {} -1 {} -1 -1 -1 -1\n", row.job, row.submit,
                     row.run_time, row.allocated, row.requested, row.status, row.user,
                     row.executable);
}

Lines jobs(const Row& row) { return jobs_of(*read_text(line_of(row), kStrict)); }

std::string rejected(const Row& row) {
  const auto workload = read_text(line_of(row), kStrict);
  if (!workload || workload->rows.rows_rejected.empty()) return "";
  return workload->rows.rows_rejected.begin()->first;
}

TEST(ReadSwf, ReadsALog) {
  const auto workload = read_trace("tests/data/traces/swf.swf", {});
  ASSERT_TRUE(workload.has_value()) << workload.error().message;
  // Job 1 requested more than it was allocated; of job 3 only the latter is known; job 4 was
  // cancelled while it ran; job 6 has a line for the whole and two for its parts.
  EXPECT_EQ(jobs_of(*workload),
            (Lines{"1 3 5 16 0 3600000 limit=7200000 partition=1 start=10000",
                   "3 default - 4 60000 90000 partition=1 start=65000",
                   "4 12 7 2 90000 45000 limit=60000 partition=1 start=90000",
                   "5 12 7 1 100000 500 limit=60000 partition=1 start=100000",
                   "6 12 7 2 120000 200000 limit=600000 partition=1 start=120000"}));
  EXPECT_EQ(workload->rows.rows_rejected, (Counts{{"cancelled before it ran", 1},
                                                  {"part of a job", 2},
                                                  {"processors unknown", 1},
                                                  {"run time unknown", 1},
                                                  {"submit time unknown", 1}}));
  EXPECT_EQ(workload->rows.rows_repaired, (Counts{{"run time of 0 s taken as 0.5 s", 1}}));
}

TEST(ReadSwf, WhatIsLeftOutIsNoErrorInStrictReading) {
  EXPECT_EQ(rejected({.run_time = "0", .status = "5"}), "cancelled before it ran");
  EXPECT_EQ(rejected({.run_time = "-1", .status = "5"}), "cancelled before it ran");
  EXPECT_EQ(rejected({.run_time = "-1", .status = "0"}), "run time unknown");
  EXPECT_EQ(rejected({.allocated = "0", .requested = "-1"}), "processors unknown");
  EXPECT_EQ(rejected({.submit = "-1", .status = "4"}), "part of a job");
}

TEST(ReadSwf, TakesTabsFractionsAndCarriageReturns) {
  EXPECT_EQ(jobs({.submit = "0.25", .run_time = "59.5"}), (Lines{"1 3 5 4 250 59500"}));
  std::string line = line_of({});
  std::replace(line.begin(), line.end(), ' ', '\t');
  line.insert(line.size() - 1, " \r");
  EXPECT_EQ(jobs_of(*read_text(line, {})), jobs({}));
}

TEST(ReadSwf, LeavesTheClockAsItIs) {
  EXPECT_EQ(jobs({.submit = "1000"}), (Lines{"1 3 5 4 1000000 60000"}));
}

TEST(ReadSwf, EveryBadFieldIsAnErrorWithItsPlace) {
  EXPECT_EQ(error_of("; Version: 2.2\n\n  1 2 3\n", kStrict), "t:3: row must have 18 fields");
  EXPECT_EQ(error_of("  " + line_of({.submit = "soon"}), kStrict),
            "t:1:5: submit time must be seconds, such as 12 or 0.25: soon");
  EXPECT_EQ(error_of(line_of({.run_time = "-2"}), kStrict),
            "t:1:8: run time must not be negative: -2");
  EXPECT_EQ(error_of(line_of({.requested = "4.5"}), kStrict),
            "t:1:20: requested processors must be a whole number: 4.5");
  EXPECT_EQ(error_of(line_of({.allocated = "1000001", .requested = "-1"}), kStrict),
            "t:1:11: gpus must be from 1 to 1000000: 1000001");
  EXPECT_EQ(error_of(line_of({.status = "done"}), kStrict),
            "t:1:28: status must be a whole number: done");
  EXPECT_EQ(error_of(line_of({.user = "ann"}), kStrict),
            "t:1:30: user id must be a whole number: ann");
  EXPECT_EQ(error_of(line_of({}) + line_of({}), kStrict), "t:2:1: this job id occurred before: 1");
}

TEST(ReadSwf, IsToldByAnyCommentOrByNumbersOnly) {
  EXPECT_EQ(format_of("; Version: 2.2\n"), &kSwfFormat);
  EXPECT_EQ(format_of(";\n; Computer: CM-5\n"), &kSwfFormat);
  EXPECT_EQ(format_of(line_of({})), &kSwfFormat);
  EXPECT_EQ(format_of(";time;load\n"), nullptr);
  EXPECT_EQ(format_of(line_of({.user = "ann"})), nullptr);
}

}  // namespace
}  // namespace fairlead
