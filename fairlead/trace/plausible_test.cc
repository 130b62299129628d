#include "fairlead/trace/plausible.h"

#include "fairlead/trace/trace.h"

#include <gtest/gtest.h>

namespace fairlead {
namespace {

// `jobs` of that duration, one a second.
Workload jobs_of(std::size_t jobs, Duration duration, Duration gap = seconds(1)) {
  WorkloadBuilder builder("test", Reading::kLenient);
  Time submit{0};
  for (std::size_t i = 0; i < jobs; ++i) {
    const std::string id = std::to_string(i);
    EXPECT_TRUE(builder.add({.id = id, .submit = submit, .duration = duration}, "test"));
    submit = submit + gap;
  }
  return builder.finish();
}

using Odd = std::vector<std::string>;

TEST(Plausible, OrdinaryJobsAre) {
  EXPECT_EQ(implausible_facts(jobs_of(100, hours(2))), Odd{});
  EXPECT_EQ(implausible_facts(jobs_of(100, seconds(1))), Odd{});
}

TEST(Plausible, MediansOfYearsAndOfMillisecondsAreOdd) {
  EXPECT_EQ(implausible_facts(jobs_of(10, hours(2 * 365 * 24))),
            Odd{"the median duration is 2.0 years: are durations in milliseconds?"});
  EXPECT_EQ(implausible_facts(jobs_of(10, milliseconds(40))),
            Odd{"the median duration is 40 ms: are durations in hours or days?"});
}

TEST(Plausible, SubmissionsAtOneTimeAreOdd) {
  EXPECT_EQ(implausible_facts(jobs_of(10, hours(1), {0})),
            Odd{"10 of 10 jobs are submitted at the same time"});
}

TEST(Plausible, CancelledJobsAreOddFromSixtyPercentOn) {
  Workload workload = jobs_of(100, hours(1));
  workload.reading.states = {{"COMPLETED", 41}, {"CANCELLED", 59}};
  EXPECT_EQ(implausible_facts(workload), Odd{});
  workload.reading.states = {{"COMPLETED", 40}, {"Cancelled", 60}};
  EXPECT_EQ(implausible_facts(workload),
            Odd{"60 of 100 jobs were cancelled, and count with the time that they ran"});
}

TEST(Plausible, AFewJobsTellNothing) {
  EXPECT_EQ(implausible_facts(jobs_of(9, milliseconds(1), {0})), Odd{});
}

TEST(Rejected, IsAnErrorAboveOnePercentOfWhatWasMeantToBeJobs) {
  Workload workload = jobs_of(99, hours(1));
  workload.rows.rows_read = 1100;
  workload.rows.rows_rejected = {{"no GPU", 1000}, {"odd", 1}};
  workload.rows.rows_skipped = 1000;
  EXPECT_TRUE(check_rejected(workload)) << "1 of 100";
  workload.rows.rows_skipped = 999;
  const Status status = check_rejected(workload);
  ASSERT_FALSE(status);
  EXPECT_EQ(
      status.error().message,
      "test: 2 of 101 rows cannot be used, which is more than 1 % (--set rejected=allow leaves "
      "them out): 1000 no GPU, 1 odd");
}

// Reads a text as the reader of a foreign format would.
TraceReading reading_of(std::string_view text) {
  Result<ByteSource> source = ByteSource::memory(text, "test");
  Result<Workload> workload = read_trace(*source, {});
  EXPECT_TRUE(workload) << workload.error().message;
  return workload->reading;
}

TEST(Reading, OfHeliosTellsZoneStatesAndColumns) {
  const TraceReading reading = reading_of(
      "job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,duration\n"
      "1,u,v,1,4,1,COMPLETED,2020-04-01 00:00:00,60\n"
      "2,u,v,1,4,1,CANCELLED,2020-04-01 00:00:10,60\n"
      "3,u,v,0,4,1,FAILED,2020-04-01 00:00:10,60\n");
  EXPECT_EQ(reading.format, "helios");
  EXPECT_TRUE(reading.is_recognised);
  EXPECT_EQ(reading.times, "calendar times without a zone, taken as UTC");
  EXPECT_EQ(reading.columns_ignored, (std::vector<std::string>{"vc"}));
  EXPECT_EQ(reading.states.size(), 2U) << "of jobs only";
  EXPECT_EQ(reading.states.at("CANCELLED"), 1);
}

TEST(Reading, OfSacctCountsStatesByTheirFirstWord) {
  const TraceReading reading = reading_of(
      "JobID|User|Submit|ElapsedRaw|AllocTRES|State|NodeList\n"
      "7|u|2026-01-02T03:04:05|60|gres/gpu=2|CANCELLED by 1000|n1\n");
  EXPECT_EQ(reading.states.at("CANCELLED"), 1);
  EXPECT_EQ(reading.columns_ignored, (std::vector<std::string>{"NodeList"}));
}

TEST(Reading, OfTheNativeFormatIgnoresIterations) {
  const TraceReading reading =
      reading_of("job,gpus,submit_s,duration_s,iterations\na,1,0,10,500\n");
  EXPECT_EQ(reading.columns_ignored, (std::vector<std::string>{"iterations"}));
  EXPECT_EQ(reading.times, "");
}

}  // namespace
}  // namespace fairlead
