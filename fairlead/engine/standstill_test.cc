#include "fairlead/engine/standstill.h"

#include <gtest/gtest.h>

#include <vector>

namespace fairlead {
namespace {

// The idle decisions, one a second, after which the jobs have come to a standstill; -1: never within
// twice the limit.
std::int64_t standstill_after(Standstill& standstill, bool all_up,
                              const std::vector<JobId>& running = {}) {
  const IdVector<JobId, Time> works_from(1);
  for (std::int64_t i = 1; i <= 2 * Standstill::kIdleMaxDown; ++i) {
    if (standstill.after_decision(true, all_up, running, works_from, Time{i * 1000})) return i;
  }
  return -1;
}

TEST(Standstill, ComesAfterSoManyIdleDecisions) {
  Standstill standstill;
  EXPECT_EQ(standstill_after(standstill, true), Standstill::kIdleMax);
  EXPECT_TRUE(standstill.stopped_early().is_none());
}

TEST(Standstill, WaitsLongerWhileANodeIsDown) {
  Standstill standstill;
  EXPECT_EQ(standstill_after(standstill, false), Standstill::kIdleMaxDown);
}

TEST(Standstill, NeverComesWhileAJobWorks) {
  Standstill standstill;
  EXPECT_EQ(standstill_after(standstill, true, {JobId(0)}), -1);
}

TEST(Standstill, AHoldThatEndsInItsOverheadIsNoProgress) {
  Standstill standstill;
  for (std::int64_t i = 1; i < Standstill::kIdleMax; ++i) {
    standstill.on_hold_end(JobId(1), Time{i * 1000 + 5000}, Time{i * 1000 + 1000});
    ASSERT_FALSE(standstill.after_decision(true, true, {}, {}, Time{i * 1000}));
  }
  EXPECT_EQ(standstill.stopped_early(), JobId(1));
  EXPECT_TRUE(standstill.after_decision(true, true, {}, {}, Time{Standstill::kIdleMax * 1000}));
}

TEST(Standstill, AHoldThatOutlivesItsOverheadIsProgress) {
  Standstill standstill;
  for (std::int64_t i = 1; i < Standstill::kIdleMax; ++i) {
    standstill.after_decision(true, true, {}, {}, Time{i});
  }
  standstill.on_hold_end(JobId(0), Time{10'000}, Time{10'001});
  EXPECT_FALSE(standstill.after_decision(true, true, {}, {}, Time{10'002}));
  EXPECT_EQ(standstill.idle(), 1);
}

}  // namespace
}  // namespace fairlead
