#include "fairlead/engine/standstill.h"

#include <gtest/gtest.h>

#include <vector>

namespace fairlead {
namespace {

const IdVector<JobId, Time> kWorksFrom(2);  // jobs 0 and 1 work from 0 on, if they run

enum class Rule : std::uint8_t { kIdle, kNoWork };

// The decisions, one a second, after which the rule strikes; -1: never within three of its limits.
std::int64_t decisions_until(Rule rule, Standstill& standstill, bool only_woke, bool all_up,
                             const std::vector<JobId>& running = {}) {
  for (std::int64_t i = 1; i <= 3 * Standstill::kRecordsMax; ++i) {
    const Standstill::Jobs jobs{running, kWorksFrom, true};
    const bool idle = standstill.is_idle(only_woke, all_up, jobs, Time{i * 1000});
    const bool endless = standstill.is_endless(jobs, Time{i * 1000});
    if (rule == Rule::kIdle ? idle : endless) return i;
  }
  return -1;
}

TEST(Standstill, ComesAfterSoManyIdleDecisions) {
  Standstill standstill;
  EXPECT_EQ(decisions_until(Rule::kIdle, standstill, true, true), Standstill::kIdleMax);
  EXPECT_TRUE(standstill.stopped_early().is_none());
}

TEST(Standstill, ANodeThatIsDownMayBeAllThatJobsWaitFor) {
  Standstill standstill;
  EXPECT_EQ(decisions_until(Rule::kIdle, standstill, true, false), -1);
}

TEST(Standstill, NeverComesWhileAJobWorks) {
  for (const Rule rule : {Rule::kIdle, Rule::kNoWork}) {
    Standstill standstill;
    EXPECT_EQ(decisions_until(rule, standstill, true, true, {JobId(0)}), -1);
  }
}

TEST(Standstill, ARunThatEndsInItsOverheadIsNoProgress) {
  Standstill standstill;
  for (std::int64_t i = 1; i < Standstill::kIdleMax; ++i) {
    standstill.on_run_end(JobId(1), Time{i * 1000 + 5000}, Time{i * 1000 + 1000}, {}, false);
    ASSERT_FALSE(standstill.is_idle(true, true, {{}, kWorksFrom, true}, Time{i * 1000}));
  }
  EXPECT_EQ(standstill.stopped_early(), JobId(1));
  EXPECT_TRUE(
      standstill.is_idle(true, true, {{}, kWorksFrom, true}, Time{Standstill::kIdleMax * 1000}));
}

TEST(Standstill, ARunThatOutlivesItsOverheadIsProgress) {
  Standstill standstill;
  for (std::int64_t i = 1; i < Standstill::kIdleMax; ++i) {
    standstill.is_idle(true, true, {{}, kWorksFrom, true}, Time{i});
  }
  standstill.on_run_end(JobId(0), Time{10'000}, Time{10'001}, {}, false);
  EXPECT_FALSE(standstill.is_idle(true, true, {{}, kWorksFrom, true}, Time{10'002}));
  EXPECT_EQ(standstill.idle(), 1);
}

TEST(Standstill, AMillionDecisionsOnNewsWithoutWorkAreTheEnd) {
  Standstill standstill;
  EXPECT_EQ(decisions_until(Rule::kNoWork, standstill, false, false), Standstill::kRecordsMax);
  EXPECT_EQ(standstill.work(), Duration{});
}

TEST(Standstill, RecordsCountLikeDecisions) {
  Standstill standstill;
  for (std::int64_t i = 1; i < Standstill::kRecordsMax; ++i) standstill.on_record();
  EXPECT_EQ(decisions_until(Rule::kNoWork, standstill, false, true), 1);
}

// Each turn of 2 s works for `worked`, of which a failure takes `lost`.
std::int64_t turns_until_the_end(Duration worked, Duration lost) {
  Standstill standstill;
  for (std::int64_t turn = 1; turn <= 3 * Standstill::kRecordsMax; ++turn) {
    const Time now{turn * 2000};
    standstill.on_run_end(JobId(0), now - worked, now, lost, true);
    standstill.on_record();
    if (standstill.is_endless({{}, kWorksFrom, true}, now)) return turn;
  }
  return -1;
}

TEST(Standstill, WorkThatFailuresTakeAwayIsNone) {
  EXPECT_EQ(turns_until_the_end(Duration{1000}, Duration{1000}), Standstill::kRecordsMax);
  EXPECT_EQ(turns_until_the_end(Duration{1000}, Duration{900}), -1);
}

TEST(Standstill, NextToNoWorkIsAHundredthOfTheTime) {
  EXPECT_EQ(turns_until_the_end(Duration{19}, {}), Standstill::kRecordsMax);
  EXPECT_EQ(turns_until_the_end(Duration{21}, {}), -1);
}

TEST(Standstill, JobsThatEndAreProgressHoweverShort) {
  for (const std::int64_t ends : {Standstill::kEndsMin - 1, Standstill::kEndsMin}) {
    Standstill standstill;
    for (std::int64_t i = 0; i < ends; ++i) standstill.on_end();
    const std::int64_t limits = ends < Standstill::kEndsMin ? 1 : 2;
    EXPECT_EQ(decisions_until(Rule::kNoWork, standstill, false, true),
              limits * Standstill::kRecordsMax);
  }
}

TEST(Standstill, TheFirstJobThatArrivesStartsAnew) {
  Standstill standstill;
  for (std::int64_t i = 1; i < Standstill::kRecordsMax; ++i) standstill.on_record();
  standstill.on_arrival(Time{500}, true);
  EXPECT_EQ(decisions_until(Rule::kNoWork, standstill, false, true), Standstill::kRecordsMax);
  EXPECT_EQ(standstill.since(), Time{500});
}

TEST(Standstill, WithoutAJobThereIsNothingToDo) {
  Standstill standstill;
  for (std::int64_t i = 1; i <= 2 * Standstill::kRecordsMax; ++i) {
    standstill.on_record();
    ASSERT_FALSE(standstill.is_endless({{}, kWorksFrom, false}, Time{i * 1000}));
  }
}

}  // namespace
}  // namespace fairlead
