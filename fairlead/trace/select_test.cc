#include "fairlead/trace/select.h"

#include "fairlead/trace/testing.h"

#include <gtest/gtest.h>

namespace fairlead {
namespace {

using testing::Counts;
using testing::error_of;
using testing::jobs_of;
using testing::Lines;
using testing::read_text;

const std::string kJobs =
    "job,user,gpus,submit_s,duration_s,gpu_type,group,group_quota,tickets,state,runs_on\n"
    "a,ann,1,0,10,V100,g,8,2,DONE,\n"
    "b,bob,2,5,20,,,,,FAILED,A100+H100\n"
    "c,ann,4,9,30,,g,,,DONE,\n";

TEST(SelectJobs, KeepsAllOfAJobAndAccountsForTheOthers) {
  const auto all = read_text(kJobs, {});
  ASSERT_TRUE(all) << all.error().message;
  const auto some = read_text(kJobs, {.selection = {.users = {"ann"}}});
  ASSERT_TRUE(some) << some.error().message;
  EXPECT_EQ(jobs_of(*some), (Lines{"a ann - 1 0 10000 V100", "c ann - 4 9000 30000"}));
  EXPECT_EQ(some->rows.rows_rejected, (Counts{{"left out by --users", 1}}));
  EXPECT_EQ(some->rows.unusable(), 0) << "they were not meant to be jobs";
  EXPECT_EQ(some->users.size(), 1U);
  EXPECT_EQ(some->users.tickets[UserId(0)], 2);
  EXPECT_EQ(some->users.groups.quota[GroupId(0)], 8);
  EXPECT_EQ(some->reading.states, (Counts{{"DONE", 2}}));
  const auto other = read_text(kJobs, {.selection = {.users = {"bob"}}});
  EXPECT_EQ(other->runs_on.at(JobId(0)), "A100+H100");
}

TEST(SelectJobs, FromIsInsideAndToIsNot) {
  const Selection window = {.from = TraceTime{{5000}}, .to = TraceTime{{9000}}};
  EXPECT_EQ(jobs_of(*read_text(kJobs, {.selection = window})),
            (Lines{"b bob - 2 5000 20000 on A100+H100"}));
}

TEST(SelectJobs, CalendarTimesNeedACalendar) {
  const Selection window = {.from = TraceTime{{1'769'842'861'000}, true}};
  EXPECT_EQ(error_of(kJobs, {.selection = window}),
            "--from is a calendar time, and the times of t count from a start: give seconds");
  const std::string dated =
      "job,gpus,submit,duration\na,1,2026-01-31 07:01:00,5\nb,1,2026-01-31 07:01:01,5\n";
  EXPECT_EQ(jobs_of(*read_text(dated, {.selection = window})), (Lines{"b default - 1 1000 5000"}))
      << "at the time that it had";
}

TEST(SelectJobs, AnUnknownUserIsAnError) {
  EXPECT_EQ(error_of(kJobs, {.selection = {.users = {"anna"}}}),
            "--users: no job of anna in t (did you mean ann?)");
}

TEST(SelectJobs, ALargerSampleContainsTheSmaller) {
  std::string text = "job,gpus,submit_s,duration_s\n";
  for (int job = 0; job < 2000; ++job) text += fmt::format("j{},1,0,1\n", job);
  const auto sample = [&](double part) {
    return jobs_of(*read_text(text, {.selection = {.sample = part}}));
  };
  const Lines small = sample(0.1);
  const Lines large = sample(0.3);
  EXPECT_NEAR(static_cast<double>(small.size()), 200, 60);
  EXPECT_NEAR(static_cast<double>(large.size()), 600, 90);
  EXPECT_TRUE(std::ranges::includes(large, small, [](const auto& a, const auto& b) {
    return std::stoi(a.substr(1)) < std::stoi(b.substr(1));
  }));
  EXPECT_EQ(sample(0.1), small);
}

TEST(Conditions, AreRefusedWhereColumnsHaveNoNames) {
  const std::vector<RowCondition> where = {{"state", "DONE"}};
  EXPECT_EQ(error_of("; a log\n", {.where = where}),
            "--where needs a format with column names in a header: swf");
  EXPECT_EQ(error_of("{\"jobs\": []}", {.where = where}),
            "--where takes a table: ask sacct for --parsable2 instead of --json");
}

TEST(Anonymise, NamesByFirstAppearance) {
  auto workload = read_text(kJobs, {});
  anonymise(*workload);
  EXPECT_EQ(jobs_of(*workload),
            (Lines{"j1 u1 - 1 0 10000 V100", "j2 u2 - 2 5000 20000 on A100+H100",
                   "j3 u1 - 4 9000 30000"}));
  EXPECT_EQ(workload->users.groups.names[GroupId(0)], "g1");
}

TEST(Anonymise, RemovesTheCalendar) {
  auto workload = read_text("job,gpus,submit_s,duration_s\na,1,1790834400,10\n", {});
  ASSERT_EQ(workload->reading.starts_at_ms, 1'790'834'400'000);
  anonymise(*workload);
  EXPECT_EQ(workload->reading.times, "");
  EXPECT_EQ(workload->reading.starts_at_ms, 0);
}

}  // namespace
}  // namespace fairlead
