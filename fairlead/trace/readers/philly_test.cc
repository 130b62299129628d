#include "fairlead/trace/readers/readers.h"
#include "fairlead/trace/testing.h"
#include "fairlead/trace/trace.h"

#include <gtest/gtest.h>

namespace fairlead {
namespace {

using testing::Counts;
using testing::error_of;
using testing::jobs_of;
using testing::Lines;
using testing::read_text;

const ReadOptions kPhilly = {.format = &kPhillyFormat};
const ReadOptions kStrict = {.format = &kPhillyFormat, .reading = Reading::kStrict};

// A log of one job with the given submission and attempts.
std::string log_of(std::string_view submitted, std::string_view attempts) {
  return fmt::format(R"([{{"vc":"v","jobid":"j","submitted_time":"{}",)"
                     "\n"
                     R"("attempts":[{}]}}])",
                     submitted, attempts);
}
std::string attempt(std::string_view start, std::string_view end) {
  return fmt::format(
      R"({{"start_time":"{}","end_time":"{}","detail":[{{"ip":"m","gpus":["g0"]}}]}})", start, end);
}

TEST(ReadPhilly, ReadsTheLog) {
  const auto workload = read_trace("tests/data/traces/philly.json", {});
  ASSERT_TRUE(workload.has_value()) << workload.error().message;
  // The last attempt with GPUs had one; 30 s and 10 s have both times. The first submission, of the
  // third job, is time 0.
  EXPECT_EQ(jobs_of(*workload), (Lines{"application_1_0001 u1 - 1 179000 40000",
                                       "application_1_0003 6214e9 - 1 0 3600000"}));
  EXPECT_EQ(workload->rows.rows_read, 5);
  EXPECT_EQ(workload->rows.rows_rejected,
            (Counts{{"no attempt that started and ended", 1},
                    {"no GPU", 1},
                    {"submitted_time must be a time, such as 2017-10-09 07:01:59", 1}}));
}

TEST(ReadPhilly, AnAttemptAcrossTheEndOfSavingTimeIsAnHourLonger) {
  const auto workload = read_text(
      log_of("2017-11-05 00:00:00", attempt("2017-11-05 00:30:00", "2017-11-05 02:30:00")),
      kPhilly);
  EXPECT_EQ(jobs_of(*workload), Lines{"j v - 1 0 10800000"});
}

TEST(ReadPhilly, AnEndBeforeTheStartIsTheSecondPassOfItsHour) {
  const auto workload = read_text(
      log_of("2017-11-05 00:00:00", attempt("2017-11-05 01:50:00", "2017-11-05 01:10:00")),
      kPhilly);
  EXPECT_EQ(jobs_of(*workload), Lines{"j v - 1 0 1200000"});
}

TEST(ReadPhilly, SubmissionsAcrossTheEndOfSavingTimeAreAnHourFurtherApart) {
  std::string log = "[";
  for (const char* time : {"2017-11-05 00:00:00", "2017-11-05 01:00:00", "2017-11-05 02:00:00"})
    log += fmt::format(R"({{"jobid":"{0}","vc":"v","submitted_time":"{0}","attempts":[{1}]}},)",
                       time, attempt("2017-11-06 00:00:00", "2017-11-06 00:00:01"));
  log.back() = ']';
  const auto workload = read_text(log, kPhilly);
  EXPECT_EQ(jobs_of(*workload),
            (Lines{"2017-11-05 00:00:00 v - 1 0 1000", "2017-11-05 01:00:00 v - 1 3600000 1000",
                   "2017-11-05 02:00:00 v - 1 10800000 1000"}));
}

TEST(ReadPhilly, StrictErrorsHaveLineAndColumn) {
  const std::string good = attempt("2017-11-06 00:00:00", "2017-11-06 00:00:01");
  EXPECT_EQ(error_of(log_of("soon", good), kStrict),
            "t:1:41: submitted_time must be a time, such as 2017-10-09 07:01:59: soon");
  EXPECT_EQ(error_of(log_of("None", good), kStrict),
            "t:1:2: submitted_time must be a time, such as 2017-10-09 07:01:59: j");
  EXPECT_EQ(error_of(log_of("2017-11-06 00:00:00", ""), kStrict),
            "t:1:2: no attempt that started and ended: j");
  EXPECT_EQ(error_of(log_of("2017-11-06 00:00:00", attempt("2017-11-06 00:00:00", "x")), kStrict),
            "t:2:60: attempt must have times, the end not before the start: x");
  EXPECT_EQ(
      error_of(log_of("2017-11-06 00:00:00", attempt("2017-11-06 00:00:01", "2017-11-06 00:00:00")),
               kStrict),
      "t:2:60: attempt must have times, the end not before the start: 2017-11-06 00:00:00");
}

TEST(ReadPhilly, BrokenJsonIsAnErrorInEveryReading) {
  EXPECT_EQ(error_of("[{\"jobid\": ]", kPhilly), "t:1:12: this is not JSON: \"jobid\": ]");
  EXPECT_TRUE(error_of("[\n\n", kPhilly).starts_with("t:2:1: this is not JSON: "));
  EXPECT_EQ(error_of("{\"jobs\": []}", kPhilly), "t:1:1: the log must be an array of jobs");
  EXPECT_EQ(error_of("3", kPhilly), "t:1:1: the log must be an array of jobs");
}

TEST(ReadPhilly, WhatIsNoJobIsCounted) {
  const auto workload = read_text(R"([1, null, "x", [{"jobid": "j"}], {}])", kPhilly);
  EXPECT_EQ(workload->rows.rows_rejected,
            (Counts{{"job must be an object", 4},
                    {"submitted_time must be a time, such as 2017-10-09 07:01:59", 1}}));
}

}  // namespace
}  // namespace fairlead
