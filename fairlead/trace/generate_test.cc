#include "fairlead/trace/generate.h"

#include "fairlead/trace/inspect.h"
#include "fairlead/trace/testing.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace fairlead {
namespace {

using testing::jobs_of;

std::string error_of(const GenerateOptions& options) {
  const auto workload = generate(options);
  return workload ? "" : workload.error().message;
}

TEST(Generate, IsAFunctionOfItsOptions) {
  const auto first = generate({.jobs = 500, .seed = 7});
  const auto again = generate({.jobs = 500, .seed = 7});
  const auto other = generate({.jobs = 500, .seed = 8});
  EXPECT_EQ(jobs_of(*first), jobs_of(*again));
  EXPECT_NE(jobs_of(*first), jobs_of(*other));
}

TEST(Generate, IsTheSameOnEveryCompiler) {
  const auto workload = generate({.jobs = 3, .seed = 1});
  EXPECT_EQ(jobs_of(*workload),
            (testing::Lines{"job-1 user-9 ResNeXt50 1 4174 429100",
                            "job-2 user-6 GRU 1 11339 154548", "job-3 user-4 LSTM 1 11500 79776"}));
}

TEST(Generate, DurationsFollowPhilly) {
  const TraceStats stats = inspect(*generate({.jobs = 200'000, .seed = 3}));
  EXPECT_NEAR(stats.duration_p50_s, 1144, 0.03 * 1144);
  EXPECT_NEAR(stats.duration_p90_s, 11266, 0.03 * 11266);
  EXPECT_NEAR(stats.duration_p99_s, 254884, 0.05 * 254884);
  EXPECT_NEAR(stats.duration_mean_s, 13136, 0.05 * 13136);
}

TEST(Generate, GangsFollowTheirWeights) {
  const TraceStats stats = inspect(*generate({.jobs = 100'000, .seed = 3}));
  EXPECT_NEAR(static_cast<double>(stats.jobs_by_gpus.at(1)), 70'000, 700);
  EXPECT_NEAR(static_cast<double>(stats.jobs_by_gpus.at(2)), 10'000, 500);
  EXPECT_NEAR(static_cast<double>(stats.jobs_by_gpus.at(4)), 15'000, 500);
  EXPECT_NEAR(static_cast<double>(stats.jobs_by_gpus.at(8)), 5'000, 500);
}

TEST(Generate, ArrivalsGiveTheLoadAskedFor) {
  const GenerateOptions options = {.jobs = 50'000, .seed = 5, .capacity_gpus = 256, .load = 0.7};
  const TraceStats stats = inspect(*generate(options));
  const double span_h = (stats.last_submit_s - stats.first_submit_s) / 3600;
  EXPECT_NEAR(stats.gpu_hours / (256 * span_h), 0.7, 0.002);
}

TEST(Generate, ArrivalsPerHourOverrideTheLoad) {
  const TraceStats stats = inspect(*generate({.jobs = 24'000, .seed = 5, .jobs_per_hour = 100}));
  EXPECT_NEAR(stats.last_submit_s / 3600, 240, 1);
}

TEST(Generate, ArrivalsAreInOrderAndFollowTheDay) {
  const auto workload =
      generate({.jobs = 100'000, .seed = 5, .jobs_per_hour = 1000, .daily_swing = 0.8});
  const auto& arrivals = workload->jobs.arrival;
  EXPECT_TRUE(std::is_sorted(arrivals.begin(), arrivals.end()));
  std::array<int, 24> by_hour{};
  for (const Time arrival : arrivals)
    ++by_hour[static_cast<std::size_t>(arrival.ms / 3'600'000 % 24)];
  const auto expected = [&](double rate) { return rate * 100'000 / 24; };
  EXPECT_NEAR(by_hour[13], expected(1.79), 300);
  EXPECT_NEAR(by_hour[1], expected(0.21), 300);
}

TEST(Generate, GapsAreExponential) {
  const auto workload =
      generate({.jobs = 100'000, .seed = 9, .jobs_per_hour = 360, .daily_swing = 0});
  // The mean gap is 10 s; a Poisson process has exp(-1) of its gaps above the mean.
  int above = 0;
  for (std::size_t i = 1; i < 100'000; ++i)
    above += (workload->jobs.arrival[JobId(i)] - workload->jobs.arrival[JobId(i - 1)]).ms > 10'000;
  EXPECT_NEAR(above, 36'788, 500);
}

TEST(Generate, UsersAreUnequalAndHaveTickets) {
  const auto workload = generate({.jobs = 30'000, .seed = 1, .users = unequal_users(3, {1, 5})});
  const TraceStats stats = inspect(*workload);
  std::map<std::string, std::int64_t> jobs, tickets;
  for (const TraceStats::User& user : stats.users_top) {
    jobs[user.name] = user.jobs;
    tickets[user.name] = user.tickets;
  }
  EXPECT_EQ(tickets,
            (std::map<std::string, std::int64_t>{{"user-1", 1}, {"user-2", 5}, {"user-3", 1}}));
  // 1 : 1/2 : 1/3.
  EXPECT_NEAR(static_cast<double>(jobs["user-1"]), 30'000 * 6 / 11.0, 500);
  EXPECT_NEAR(static_cast<double>(jobs["user-3"]), 30'000 * 2 / 11.0, 500);
}

TEST(Generate, ModelsDoNotMoveAnythingElse) {
  const auto seven = generate({.jobs = 1000, .seed = 2});
  const auto one = generate({.jobs = 1000, .seed = 2, .models = {{"VAE"}}});
  EXPECT_EQ(seven->models.size(), 7u);
  EXPECT_EQ(one->models.size(), 1u);
  EXPECT_EQ(seven->jobs.arrival, one->jobs.arrival);
  EXPECT_EQ(seven->durations, one->durations);
}

TEST(Generate, RefusesWhatMakesNoTrace) {
  EXPECT_EQ(error_of({.jobs = 0}), "jobs must be from 1 to 1000000000: 0");
  EXPECT_EQ(error_of({.load = 0}), "load must be above 0: 0");
  EXPECT_EQ(error_of({.capacity_gpus = 0}), "capacity must be at least 1 GPU: 0");
  EXPECT_EQ(error_of({.jobs_per_hour = -1}), "jobs per hour must not be negative: -1");
  EXPECT_EQ(error_of({.daily_swing = 1.5}), "daily swing must be from 0 to 1: 1.5");
  EXPECT_EQ(error_of({.duration_scale = 1000}),
            "duration scale must be above 0 and at most 600: 1000");
  EXPECT_EQ(error_of({.gangs = {{0, 1}}}), "gang size must be from 1 to 1000000: 0");
  EXPECT_EQ(error_of({.users = {{"u", 0, 1}}}), "tickets must be from 1 to 1000000: 0");
  EXPECT_EQ(error_of({.models = {}}),
            "weights of gangs, models and users must not be negative or all zero");
  EXPECT_TRUE(error_of({.load = 1e-9})
                  .starts_with("the arrivals would take more than 100 years; raise the load: "));
}

}  // namespace
}  // namespace fairlead
