#include "fairlead/engine/timers.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace fairlead {
namespace {

const std::vector<Time> kWakes{Time{3'000}, Time{1'000}, Time{2'000}};

TEST(Timers, NeverIsTheNextTimeOfNone) { EXPECT_EQ(Timers().next(), Time::never()); }

TEST(Timers, TheNextTimeIsTheEarliestOfBothKinds) {
  Timers timers;
  timers.wake_at(kWakes);
  EXPECT_EQ(timers.next(), Time{1'000});
  timers.retry_at(Time{500}, JobId(0));
  EXPECT_EQ(timers.next(), Time{500});
}

TEST(Timers, WakeUpsThatAreDueAreTakenTogether) {
  Timers timers;
  timers.wake_at(kWakes);
  EXPECT_FALSE(timers.take_wakes(Time{999}));
  EXPECT_TRUE(timers.take_wakes(Time{2'000}));
  EXPECT_EQ(timers.wakes(), std::vector<Time>{Time{3'000}});
}

TEST(Timers, RetriesThatAreDueAreTakenByTimeThenByJob) {
  Timers timers;
  timers.retry_at(Time{2'000}, JobId(0));
  timers.retry_at(Time{1'000}, JobId(2));
  timers.retry_at(Time{1'000}, JobId(1));
  EXPECT_FALSE(timers.take_retry(Time{999}).has_value());
  EXPECT_EQ(timers.take_retry(Time{1'000}), std::pair(Time{1'000}, JobId(1)));
  EXPECT_EQ(timers.take_retry(Time{1'000}), std::pair(Time{1'000}, JobId(2)));
  EXPECT_FALSE(timers.take_retry(Time{1'000}).has_value());
  EXPECT_TRUE(timers.has_retries());
}

TEST(Timers, ClearedWakeUpsLeaveTheRetries) {
  Timers timers;
  timers.wake_at(kWakes);
  timers.retry_at(Time{5'000}, JobId(0));
  timers.clear_wakes();
  EXPECT_EQ(timers.next(), Time{5'000});
}

}  // namespace
}  // namespace fairlead
