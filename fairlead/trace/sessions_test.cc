#include "fairlead/trace/sessions.h"

#include "fairlead/trace/inspect.h"
#include "fairlead/trace/testing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

namespace fairlead {
namespace {

using testing::jobs_of;

std::string error_of(const SessionOptions& options) {
  const auto workload = generate_sessions(options);
  return workload ? "" : workload.error().message;
}

struct UserJobs {
  std::int64_t jobs = 0;
  Time first = Time::never();
  Time last{-1};
  std::set<ModelId> models;
};

std::map<UserId, UserJobs> by_user(const Workload& workload) {
  std::map<UserId, UserJobs> users;
  const Jobs& jobs = workload.jobs;
  for (const JobId job : ids<JobId>(jobs.size())) {
    UserJobs& user = users[jobs.user[job]];
    ++user.jobs;
    user.first = std::min(user.first, jobs.arrival[job]);
    user.last = std::max(user.last, jobs.arrival[job]);
    user.models.insert(jobs.model[job]);
  }
  return users;
}

TEST(Sessions, AreAFunctionOfTheirOptions) {
  const auto first = generate_sessions({.seed = 7});
  EXPECT_EQ(jobs_of(*first), jobs_of(*generate_sessions({.seed = 7})));
  EXPECT_NE(jobs_of(*first), jobs_of(*generate_sessions({.seed = 8})));
}

TEST(Sessions, AreTheSameOnEveryCompiler) {
  const auto workload = generate_sessions(
      {.seed = 1, .capacity_gpus = 1, .span_h = 1, .load = 1, .jobs_min = 3, .jobs_max = 3});
  EXPECT_EQ(jobs_of(*workload), (testing::Lines{"job-1 user-1 ResNeXt50 1 1398524 1312036",
                                                "job-2 user-1 ResNeXt50 1 1413912 452862",
                                                "job-3 user-1 ResNeXt50 1 1459963 1835101"}));
}

TEST(Sessions, AskForTheLoadWanted) {
  const TraceStats stats =
      inspect(*generate_sessions({.seed = 3, .capacity_gpus = 64, .span_h = 48, .load = 1.5}));
  EXPECT_NEAR(stats.gpu_hours, 1.5 * 64 * 48, 0.01);
}

TEST(Sessions, OfNewUsersAreBurstsOfOneModel) {
  const auto workload = generate_sessions(
      {.seed = 3, .span_h = 240, .jobs_min = 4, .jobs_max = 9, .burst = seconds(60)});
  const auto users = by_user(*workload);
  EXPECT_GT(users.size(), 100u);
  for (const auto& [id, user] : users) {
    EXPECT_GE(user.jobs, 4);
    EXPECT_LE(user.jobs, 9);
    EXPECT_EQ(user.models.size(), 1u);
    EXPECT_LE(user.last - user.first, seconds(60));
  }
}

TEST(Sessions, OfSomeUsersTakeTurns) {
  const auto workload =
      generate_sessions({.seed = 3, .span_h = 240, .users = 5, .tickets = {1, 4}});
  const auto users = by_user(*workload);
  EXPECT_EQ(users.size(), 5u);
  for (const auto& [id, user] : users) {
    EXPECT_EQ(user.models.size(), 1u);
    EXPECT_GT(user.last - user.first, hours(100));
    const bool odd = (workload->users.names[id].back() - '0') % 2 == 1;
    EXPECT_EQ(workload->users.tickets[id], odd ? 1 : 4);
  }
}

TEST(Sessions, ArriveInOrderAndEvenly) {
  const auto workload =
      generate_sessions({.seed = 5, .capacity_gpus = 1000, .span_h = 100, .burst = seconds(0)});
  const auto& arrivals = workload->jobs.arrival;
  EXPECT_TRUE(std::is_sorted(arrivals.begin(), arrivals.end()));
  std::set<std::int64_t> begins;
  for (const Time arrival : arrivals) begins.insert(arrival.ms);
  const auto half =
      std::ranges::count_if(begins, [](std::int64_t begin) { return begin < hours(50).ms; });
  const auto sessions = static_cast<double>(begins.size());
  EXPECT_GT(sessions, 1000);
  EXPECT_NEAR(static_cast<double>(half) / sessions, 0.5, 0.05);
  EXPECT_LE(arrivals[JobId(arrivals.size() - 1)], Time{} + hours(100));
}

TEST(Sessions, HaveDurationsAndGangsInTheirRanges) {
  const auto workload = generate_sessions({.seed = 5,
                                           .capacity_gpus = 1000,
                                           .span_h = 100,
                                           .duration_min = seconds(100),
                                           .duration_max = seconds(10'000),
                                           .gangs = {{1, 3}, {4, 1}}});
  const Jobs& jobs = workload->jobs;
  std::int64_t short_ones = 0, singles = 0;
  for (const JobId job : ids<JobId>(jobs.size())) {
    // The last session may be shorter by a little.
    EXPECT_GE(workload->durations[job], seconds(98));
    EXPECT_LE(workload->durations[job], seconds(10'000));
    short_ones += workload->durations[job] < seconds(1000);
    singles += jobs.gpus[job] == 1;
  }
  const auto count = static_cast<double>(jobs.size());
  EXPECT_NEAR(static_cast<double>(short_ones) / count, 0.5, 0.02);
  EXPECT_NEAR(static_cast<double>(singles) / count, 0.75, 0.02);
}

TEST(Sessions, RefuseWhatMakesNoTrace) {
  EXPECT_EQ(error_of({.capacity_gpus = 0}), "capacity must be at least 1 GPU: 0");
  EXPECT_EQ(error_of({.span_h = 0}), "hours must be above 0 and at most 100 years: 0");
  EXPECT_EQ(error_of({.load = -1}), "load must be above 0: -1");
  EXPECT_EQ(error_of({.users = -1}), "users must not be negative: -1");
  EXPECT_EQ(error_of({.tickets = {0}}), "tickets must be from 1 to 1000000: 0");
  EXPECT_EQ(error_of({.jobs_min = 5, .jobs_max = 4}), "a session's jobs must be from 1 up: 5 to 4");
  EXPECT_EQ(error_of({.burst = {-1}}), "a session's burst must not be negative: -1 ms");
  EXPECT_EQ(error_of({.duration_min = {0}}),
            "durations must be from 1 ms to 100 years: 0 to 14400000 ms");
  EXPECT_EQ(error_of({.gangs = {}}),
            "weights of gangs and models must not be negative or all zero");
  EXPECT_EQ(error_of({.gangs = {{0, 1}}}), "gang size must be from 1 to 1000000: 0");
  EXPECT_EQ(error_of({.load = 1e6}), "more than 1000000 jobs; lower the load: 1000000");
}

}  // namespace
}  // namespace fairlead
