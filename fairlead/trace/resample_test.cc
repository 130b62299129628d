#include "fairlead/trace/resample.h"

#include "fairlead/trace/testing.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

namespace fairlead {
namespace {

using testing::jobs_of;
using testing::read_text;

constexpr std::int64_t kDayS = 86'400;

// A trace with two jobs on each day, at 0 h and 18 h of it, by user "d" and the number of the day.
Workload daily(std::int64_t days) {
  std::string text = "job,user,gpus,submit_s,duration_s,start_s\n";
  for (std::int64_t day = 0; day < days; ++day) {
    for (const std::int64_t hour : {0, 18}) {
      const std::int64_t at_s = day * kDayS + hour * 3600;
      text += fmt::format("j{}-{},d{},2,{},60,{}\n", day, hour, day, at_s, at_s);
    }
  }
  return *read_text(text, {});
}

std::int64_t day_of(const Workload& workload, JobId job) {
  return workload.jobs.arrival[job].ms / (kDayS * 1000);
}

// The day of the original at each day of the resample, by the users of its jobs.
std::vector<std::int64_t> days_of(const Workload& drawn) {
  std::map<std::int64_t, std::int64_t> days;
  for (const JobId job : ids<JobId>(drawn.jobs.size())) {
    const std::string& user = drawn.users.names[drawn.jobs.user[job]];
    days[day_of(drawn, job)] = std::stoll(user.substr(1));
  }
  std::vector<std::int64_t> from;
  for (const auto& [day, source] : days) from.push_back(source);
  return from;
}

TEST(TraceDays, AreRoundedAndBlocksGrowAsTheirCubeRoot) {
  const auto days = [](std::int64_t last_s) {
    return trace_days(*read_text(
        fmt::format("job,gpus,submit_s,duration_s\na,1,1000,5\nb,1,{},5\n", 1000 + last_s), {}));
  };
  EXPECT_EQ(days(0).days, 1);
  EXPECT_EQ(days(7 * kDayS + kDayS / 2 - 1).days, 7);
  EXPECT_EQ(days(7 * kDayS + kDayS / 2).days, 8);
  EXPECT_EQ(days(7 * kDayS).block, 1);
  EXPECT_EQ(days(8 * kDayS).block, 2);
  EXPECT_EQ(days(30 * kDayS).block, 3);
  EXPECT_EQ(days(365 * kDayS).block, 7);
}

TEST(Resampled, KeepsTheTimeOfDayAndTheJobsOfADayTogether) {
  const Workload trace = daily(9);
  const Workload drawn = *resampled(trace, 1);
  ASSERT_EQ(drawn.jobs.size(), trace.jobs.size());
  std::map<std::int64_t, std::set<std::string>> users;
  std::set<std::string_view> names;
  for (const JobId job : ids<JobId>(drawn.jobs.size())) {
    users[day_of(drawn, job)].insert(drawn.users.names[drawn.jobs.user[job]]);
    names.insert(drawn.names[job]);
    const std::int64_t hour = drawn.jobs.arrival[job].ms % (kDayS * 1000) / 3'600'000;
    EXPECT_TRUE(drawn.names[job].substr(2).starts_with(fmt::format("-{}", hour)))
        << drawn.names[job];
    EXPECT_EQ(drawn.jobs.gpus[job], 2);
    EXPECT_EQ(drawn.durations[job].ms, 60'000);
    EXPECT_EQ(drawn.jobs.logged_of(job).start, Logged().start) << "recorded among other jobs";
  }
  EXPECT_EQ(names.size(), drawn.jobs.size());
  EXPECT_EQ(users.size(), 9U);
  for (const auto& [day, of_day] : users) EXPECT_EQ(of_day.size(), 1U) << day;
  EXPECT_EQ(drawn.rows.rows_read, trace.rows.rows_read);
}

TEST(Resampled, TakesBlocksOfConsecutiveDaysAfterTheLastTheFirst) {
  const Workload trace = daily(27);  // blocks of 3 days
  bool has_wrapped = false;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const std::vector<std::int64_t> days = days_of(*resampled(trace, seed));
    ASSERT_EQ(days.size(), 27U);
    for (std::size_t day = 0; day < days.size(); ++day) {
      if (day % 3 == 0) continue;
      EXPECT_EQ(days[day], (days[day - 1] + 1) % 27) << "seed " << seed << ", day " << day;
      has_wrapped = has_wrapped || days[day] == 0;
    }
  }
  EXPECT_TRUE(has_wrapped);
}

TEST(Resampled, HasEachDayOnceInTheMean) {
  const Workload trace = daily(10);
  std::map<std::int64_t, int> times;
  constexpr int kDraws = 400;
  for (std::uint64_t seed = 0; seed < kDraws; ++seed)
    for (const std::int64_t day : days_of(*resampled(trace, seed))) ++times[day];
  // A sum of 400 numbers with variance 1.6 has a standard deviation of 25.
  for (const auto& [day, count] : times) EXPECT_NEAR(count, kDraws, 127) << "day " << day;
  EXPECT_EQ(times.size(), 10U);
}

TEST(Resampled, IsTheSameForTheSameSeedAlone) {
  const Workload trace = daily(12);
  EXPECT_EQ(jobs_of(*resampled(trace, 3)), jobs_of(*resampled(trace, 3)));
  EXPECT_NE(jobs_of(*resampled(trace, 3)), jobs_of(*resampled(trace, 4)));
}

TEST(Resampled, NeedsAWeek) {
  EXPECT_TRUE(resampled(daily(7), 1));
  const auto short_one = resampled(daily(6), 1);
  ASSERT_FALSE(short_one);
  EXPECT_EQ(short_one.error().message,
            "t: days of a trace can be drawn again if it has 7 or more: 6");
}

}  // namespace
}  // namespace fairlead
