#include "fairlead/forecast/forecast.h"

#include <gtest/gtest.h>

namespace fairlead {
namespace {

// A machine with one node of that many GPUs, all idle, of which one more is broken.
ClusterAnswer machine(std::int64_t gpus, std::string policy) {
  NodeAnswer node{.name = "V100", .type = "V100"};
  for (std::int64_t i = 0; i < gpus; ++i) node.gpus.push_back({.index = i, .state = "idle"});
  node.gpus.push_back({.index = gpus, .state = "down"});
  return {.policy = std::move(policy), .nodes = {node}};
}

JobAnswer waiting(std::int64_t id, std::int64_t gpus, std::optional<double> declared_s = {}) {
  return {.id = id, .user = "ann", .gpus = gpus, .state = "waiting", .declared_s = declared_s};
}

JobAnswer running(std::int64_t id, std::int64_t gpus, double gpu_s,
                  std::optional<double> declared_s = {}) {
  JobAnswer job = waiting(id, gpus, declared_s);
  job.state = "running";
  job.gpu_s = gpu_s;
  job.on = {{.node = "V100", .gpus = {0}}};
  return job;
}

JobAnswer finished(std::int64_t id, double gpu_s, std::string user, std::string model = "") {
  return {.id = id,
          .user = std::move(user),
          .model = std::move(model),
          .state = "finished",
          .gpu_s = gpu_s};
}

Result<Forecast> forecast_of(const ClusterAnswer& cluster, const std::vector<JobAnswer>& jobs,
                             std::int64_t job) {
  FL_TRY_ASSIGN(queue, queue_now(cluster, jobs, {}));
  return forecast(queue, job);
}

TEST(Forecast, AJobThatReportsProgressIsBelievedMost) {
  JobAnswer job = running(3, 2, 100, 7200);
  job.progress = JobAnswer::Progress{.done = 50, .total = 200, .unit_per_s = 2};
  const TimeLeft left = time_left(job, {job});
  EXPECT_EQ(left.s, 75);
  EXPECT_EQ(left.source, "by its progress");
}

TEST(Forecast, WhatWasDeclaredCountsLessWhatWasServed) {
  const JobAnswer job = running(3, 2, 200, 500);
  const TimeLeft left = time_left(job, {job});
  EXPECT_EQ(left.s, 400);  // 200 GPU-seconds are 100 s of two GPUs
  EXPECT_EQ(left.source, "as declared");
}

TEST(Forecast, NoJobOutlastsItsLimit) {
  JobAnswer job = running(3, 2, 200, 500);
  job.limit_s = 450;
  EXPECT_EQ(time_left(job, {job}).s, 350);
  EXPECT_EQ(time_left(job, {job}).source, "by its time limit");
  job.limit_s = 501;
  EXPECT_EQ(time_left(job, {job}).source, "as declared");
}

TEST(Forecast, OtherwiseSimilarJobsTellTheNearestFirst) {
  JobAnswer job = waiting(9, 1);
  job.model = "ResNet50";
  std::vector<JobAnswer> jobs = {job, finished(1, 700, "bob")};
  EXPECT_EQ(time_left(job, jobs).s, 700);
  EXPECT_EQ(time_left(job, jobs).source, "as jobs here take");
  jobs.push_back(finished(2, 50, "ann"));
  EXPECT_EQ(time_left(job, jobs).s, 50);
  EXPECT_EQ(time_left(job, jobs).source, "as jobs of ann take");
  for (const double s : {30.0, 10.0, 20.0}) jobs.push_back(finished(3, s, "bob", "ResNet50"));
  EXPECT_EQ(time_left(job, jobs).s, 20);
  EXPECT_EQ(time_left(job, jobs).source, "as jobs of ResNet50 take");
}

TEST(Forecast, AJobThatOutlastsEveryGuessTakesAsLongAgain) {
  const JobAnswer job = running(3, 2, 2000, 500);
  const TimeLeft left = time_left(job, {job});
  EXPECT_EQ(left.s, 1000);
  EXPECT_EQ(left.source, "as long again as it has run");
  EXPECT_EQ(time_left(waiting(4, 1), {waiting(4, 1)}).s, 3600);
}

TEST(Forecast, SimilarJobsThatDifferGiveARange) {
  const JobAnswer job = running(30, 1, 100);
  std::vector<JobAnswer> jobs = {job};
  for (int i = 1; i <= 20; ++i) jobs.push_back(finished(i, 10.0 * i, "ann"));
  EXPECT_EQ(time_left(job, jobs).s, 10);
  ASSERT_TRUE(time_left(job, jobs).range);
  EXPECT_EQ(time_left(job, jobs).range->least_s, 10);
  EXPECT_EQ(time_left(job, jobs).range->most_s, 90) << "of the ten that took longer than 100 s";
  jobs.back().gpu_s = 2000;
  EXPECT_EQ(time_left(job, jobs).range->most_s, 90) << "the longest tenth starts there";
  JobAnswer limited = job;
  limited.limit_s = 150;
  EXPECT_EQ(time_left(limited, jobs).range->most_s, 50);
  EXPECT_FALSE(time_left(running(30, 1, 100, 500), jobs).range) << "declared";
  EXPECT_FALSE(time_left(waiting(31, 1), {finished(1, 10, "ann")}).range) << "one job alone";
}

TEST(Forecast, TheRangeIsOfTheQueuesWithTheShortestAndTheLongestJobs) {
  std::vector<JobAnswer> jobs = {waiting(9, 2, 1000)};
  for (int i = 0; i < 3; ++i) jobs.push_back(finished(i, 100 + 300 * i, "bob"));
  jobs.push_back(running(8, 2, 0));
  jobs.back().user = "bob";
  const auto waits = forecast_of(machine(2, "fifo"), jobs, 9);
  ASSERT_TRUE(waits && waits->start_range && waits->end_range);
  EXPECT_NEAR(waits->start_range->least_s, 100, 50);
  EXPECT_NEAR(*waits->start_s, 400, 50);
  EXPECT_NEAR(waits->start_range->most_s, 700, 50);
  EXPECT_GE(waits->end_range->least_s, 1100);
  EXPECT_GE(waits->end_range->most_s, 1700);
  const auto runs = forecast_of(machine(2, "fifo"), jobs, 8);
  ASSERT_TRUE(runs && runs->start_range);
  EXPECT_EQ(runs->start_range->most_s, 0);
  jobs.back().declared_s = 500;
  EXPECT_FALSE(forecast_of(machine(2, "fifo"), jobs, 9)->start_range) << "all are declared";
}

TEST(Forecast, AJobWaitsForThoseThatHaveTheGpus) {
  const std::vector<JobAnswer> jobs = {waiting(1, 2, 1000), running(2, 2, 0, 600),
                                       waiting(3, 4, 100)};
  const auto answer = forecast_of(machine(2, "fifo"), jobs, 1);
  ASSERT_TRUE(answer) << answer.error().message;
  ASSERT_TRUE(answer->start_s && answer->end_s);
  EXPECT_GE(*answer->start_s, 600);
  EXPECT_LT(*answer->start_s, 700);  // with the cost of a start
  EXPECT_GE(*answer->end_s - *answer->start_s, 1000);
  ASSERT_EQ(answer->guesses.size(), 3U);
  EXPECT_EQ(answer->guesses.back().job, 1);

  const auto of_running = forecast_of(machine(2, "fifo"), jobs, 2);
  ASSERT_TRUE(of_running);
  EXPECT_EQ(of_running->start_s, 0);
  std::vector<JobAnswer> starting = jobs;
  starting[1].state = "starting";
  EXPECT_EQ(forecast_of(machine(2, "fifo"), starting, 2).value().start_s, 0);
  const auto too_large = forecast_of(machine(2, "fifo"), jobs, 3);
  ASSERT_TRUE(too_large) << too_large.error().message;
  EXPECT_FALSE(too_large->start_s || too_large->end_s);
}

TEST(Forecast, ItIsOfTheDaemonsOwnPolicy) {
  const std::vector<JobAnswer> jobs = {waiting(1, 1, 5000), waiting(2, 1, 10)};
  ClusterAnswer cluster = machine(1, "fifo");
  EXPECT_GE(forecast_of(cluster, jobs, 2).value().start_s.value(), 5000);
  cluster.policy = "sjf";
  EXPECT_LT(forecast_of(cluster, jobs, 2).value().start_s.value(), 10);
  cluster.policy = "tiresias";
  cluster.policy_options = "limits=50";
  EXPECT_TRUE(forecast_of(cluster, jobs, 2));
  cluster.policy = "of-another-version";
  EXPECT_FALSE(forecast_of(cluster, jobs, 2));
}

TEST(Forecast, JobsThatAreHeldOrDoneAreLeftOut) {
  std::vector<JobAnswer> jobs = {finished(1, 50, "ann"), waiting(2, 1, 5000), waiting(3, 1, 10)};
  jobs[1].state = "held";
  const auto answer = forecast_of(machine(1, "fifo"), jobs, 3);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->guesses.size(), 1U);
  EXPECT_LT(answer->start_s.value(), 10);
}

TEST(Forecast, WithoutAUsableGpuThereIsNone) {
  const auto answer = forecast_of(machine(0, "fifo"), {waiting(1, 1)}, 1);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().message, "no GPU can be used now; `fairlead gpus` shows them");
}

}  // namespace
}  // namespace fairlead
