#include "fairlead/model/known_work.h"

#include "fairlead/model/jobs.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace fairlead {
namespace {

constexpr JobId kJob{0};
constexpr Duration kGuess = KnownWork::kGuessMin;

Time at(std::int64_t s) { return Time{s * 1000}; }

// Jobs of one user, without a model, submitted at 0.
Jobs jobs_of_one_user(std::size_t count) {
  Jobs jobs;
  jobs.user.resize(count, UserId(0));
  jobs.model.resize(count);
  jobs.arrival.resize(count);
  return jobs;
}

class KnownWorkTest : public testing::Test {
 protected:
  KnownWork known(WorkSource source, double error = 0, std::uint64_t seed = 0) const {
    return {jobs_, nullptr, WorkSource::kExact, {.source = source, .error = error, .seed = seed}};
  }
  // Runs one job from `from_s` to `to_s`, then stops it.
  static void run(KnownWork& work, JobId job, std::int64_t from_s, std::int64_t to_s) {
    work.set_now(at(from_s));
    work.on_run_begin(job, Rate::one(), {});
    work.set_now(at(to_s));
    work.on_run_end(job);
  }

  const Jobs jobs_ = jobs_of_one_user(2000);
};

TEST_F(KnownWorkTest, GuessesAsMuchAgainAsTheJobHasDone) {
  KnownWork work = known(WorkSource::kNone);
  work.on_arrived(kJob, seconds(10));
  EXPECT_EQ(work.remaining(kJob), kGuess);
  EXPECT_EQ(work.left(kJob).source, WorkSource::kNone);
  run(work, kJob, 0, 500);
  EXPECT_EQ(work.done(kJob), seconds(500));
  EXPECT_EQ(work.remaining(kJob), seconds(500));
  EXPECT_EQ(work.total(kJob), seconds(1000));
}

TEST_F(KnownWorkTest, CountsWorkFromTheEndOfTheOverheadAtTheRateOfTheGang) {
  KnownWork work = known(WorkSource::kDeclared);
  work.on_arrived(kJob, seconds(100));
  work.on_run_begin(kJob, Rate::of(0.5), seconds(10));
  work.set_now(at(5));
  EXPECT_EQ(work.remaining(kJob), seconds(100));
  work.set_now(at(30));
  EXPECT_EQ(work.remaining(kJob), seconds(90));
  work.on_rate(kJob, Rate::of(2));
  work.set_now(at(40));
  EXPECT_EQ(work.remaining(kJob), seconds(70));
  work.on_run_end(kJob);
  work.set_now(at(90));
  EXPECT_EQ(work.remaining(kJob), seconds(70));
}

TEST_F(KnownWorkTest, ARateThatChangesDuringTheOverheadCountsFromItsEnd) {
  KnownWork work = known(WorkSource::kDeclared);
  work.on_arrived(kJob, seconds(100));
  work.on_run_begin(kJob, Rate::one(), seconds(10));
  work.set_now(at(5));
  work.on_rate(kJob, Rate::of(2));
  work.set_now(at(12));
  EXPECT_EQ(work.done(kJob), seconds(4));
}

TEST_F(KnownWorkTest, CopiesAddTheirRatesAndBeginWithTheLast) {
  KnownWork work = known(WorkSource::kDeclared);
  work.on_arrived(kJob, seconds(100));
  work.on_run_begin(kJob, Rate::one(), seconds(2));
  work.on_run_begin(kJob, Rate::of(0.5), seconds(10));
  work.on_run_begin(kJob, Rate::of(0.5), seconds(4));
  work.set_now(at(20));
  EXPECT_EQ(work.done(kJob), seconds(20));
  work.on_run_end(kJob);
  work.on_run_begin(kJob, Rate::one(), {});
  work.set_now(at(25));
  EXPECT_EQ(work.done(kJob), seconds(25));
}

TEST_F(KnownWorkTest, TakesARateThatNoWorldKnowsForTheReference) {
  KnownWork work = known(WorkSource::kDeclared);
  work.on_arrived(kJob, seconds(100));
  work.on_run_begin(kJob, Rate{0}, {});
  work.set_now(at(20));
  EXPECT_EQ(work.done(kJob), seconds(20));
}

TEST_F(KnownWorkTest, WorkThatIsLostIsLeftAgain) {
  KnownWork work = known(WorkSource::kDeclared);
  work.on_arrived(kJob, seconds(100));
  work.on_run_begin(kJob, Rate::of(2), {});
  work.set_now(at(20));
  work.on_run_end(kJob, seconds(5));
  EXPECT_EQ(work.remaining(kJob), seconds(70));
  work.on_run_begin(kJob, Rate::one(), {});
  work.on_run_end(kJob, seconds(1000));
  EXPECT_EQ(work.done(kJob), Duration{});
}

TEST_F(KnownWorkTest, WhatIsDeclaredAgesFromTheSubmission) {
  KnownWork work = known(WorkSource::kDeclared);
  work.set_now(at(7));
  work.on_arrived(kJob, seconds(100));
  const WorkLeft left = work.left(kJob);
  EXPECT_EQ(left.left, seconds(100));
  EXPECT_EQ(left.source, WorkSource::kDeclared);
  EXPECT_EQ(left.age, seconds(7));
}

// Otherwise the job would be first for ever.
TEST_F(KnownWorkTest, AJobThatOutlivesWhatItDeclaredIsEstimatedAnew) {
  KnownWork work = known(WorkSource::kDeclared);
  work.on_arrived(kJob, seconds(100));
  work.on_run_begin(kJob, Rate::one(), {});
  work.set_now(Time{99'999});
  EXPECT_EQ(work.remaining(kJob), Duration{1});
  work.set_now(at(100));
  EXPECT_EQ(work.remaining(kJob), seconds(100));
  EXPECT_EQ(work.left(kJob).source, WorkSource::kNone);
  work.set_now(at(1000));
  EXPECT_EQ(work.remaining(kJob), seconds(1000));
}

TEST_F(KnownWorkTest, AReportReplacesWhatWasDeclaredAndAges) {
  KnownWork work = known(WorkSource::kExact);  // not available in this world
  work.on_arrived(kJob, seconds(100));
  work.on_run_begin(kJob, Rate::one(), {});
  work.set_now(at(50));
  work.on_report(kJob, seconds(500));
  EXPECT_EQ(work.remaining(kJob), seconds(500));
  EXPECT_EQ(work.total(kJob), seconds(550));
  work.set_now(at(60));
  const WorkLeft left = work.left(kJob);
  EXPECT_EQ(left.left, seconds(490));
  EXPECT_EQ(left.source, WorkSource::kReported);
  EXPECT_EQ(left.age, seconds(10));
  work.on_report(kJob, Duration{});  // an unfinished job has work left
  EXPECT_EQ(work.remaining(kJob), Duration{1});
  work.set_now(at(70));
  EXPECT_EQ(work.left(kJob).source, WorkSource::kNone);
}

TEST_F(KnownWorkTest, PoliciesAreToldNoMoreThanIsAllowedOrTheyAskFor) {
  KnownWork declared = known(WorkSource::kDeclared);
  declared.on_arrived(kJob, seconds(100));
  declared.on_report(kJob, seconds(500));
  EXPECT_EQ(declared.remaining(kJob), seconds(100));

  KnownWork asks_for_less(jobs_, nullptr, WorkSource::kHistory, {});
  asks_for_less.on_arrived(kJob, seconds(100));
  EXPECT_EQ(asks_for_less.left(kJob).source, WorkSource::kNone);

  KnownWork asks_for_nothing(jobs_, nullptr, WorkSource::kNone, {});
  asks_for_nothing.on_arrived(kJob, seconds(100));
  run(asks_for_nothing, kJob, 0, 500);
  EXPECT_EQ(asks_for_nothing.remaining(kJob), kGuess);
}

TEST_F(KnownWorkTest, TheHistoryIsOfFinishedJobs) {
  KnownWork work = known(WorkSource::kHistory);
  const JobId next{1};
  work.on_arrived(kJob, seconds(1));
  work.on_arrived(next, seconds(1));
  run(work, kJob, 0, 200);
  EXPECT_EQ(work.left(next).source, WorkSource::kNone);
  work.on_finished(kJob);
  EXPECT_EQ(work.remaining(next), seconds(200));
  EXPECT_EQ(work.left(next).source, WorkSource::kHistory);
  run(work, next, 200, 350);
  EXPECT_EQ(work.remaining(next), seconds(50));
  run(work, next, 350, 650);
  EXPECT_EQ(work.remaining(next), seconds(450));
  EXPECT_EQ(work.left(next).source, WorkSource::kNone);
}

// A job without a declared duration gets the mean work of finished jobs.
TEST_F(KnownWorkTest, EachSourceFallsBackToTheNext) {
  KnownWork work = known(WorkSource::kDeclared);
  work.on_arrived(kJob, seconds(10));
  run(work, kJob, 0, 200);
  work.on_finished(kJob);
  work.on_arrived(JobId(1), {});
  EXPECT_EQ(work.remaining(JobId(1)), seconds(200));
  EXPECT_EQ(work.left(JobId(1)).source, WorkSource::kHistory);
}

TEST_F(KnownWorkTest, ErrorsAreLogNormalWithMedianOneAndFollowFromTheSeed) {
  KnownWork work = known(WorkSource::kDeclared, 0.5, 1);
  KnownWork same = known(WorkSource::kDeclared, 0.5, 1);
  KnownWork other = known(WorkSource::kDeclared, 0.5, 2);
  double sum = 0;
  double squares = 0;
  std::size_t differ = 0;
  for (JobId job : ids<JobId>(jobs_.size())) {
    for (KnownWork* each : {&work, &same, &other}) each->on_arrived(job, hours(1000));
    EXPECT_EQ(work.remaining(job), same.remaining(job));
    if (work.remaining(job) != other.remaining(job)) ++differ;
    const double log = std::log(to_seconds(work.remaining(job)) / to_seconds(hours(1000)));
    sum += log;
    squares += log * log;
  }
  const auto count = static_cast<double>(jobs_.size());
  EXPECT_NEAR(sum / count, 0, 0.05);
  EXPECT_NEAR(std::sqrt(squares / count), 0.5, 0.05);
  EXPECT_GT(differ, jobs_.size() * 9 / 10);
}

// A job's row is created by the first call about it, in any order of jobs.
TEST_F(KnownWorkTest, JobsMayAppearAtAnyMoment) {
  KnownWork work = known(WorkSource::kDeclared);
  EXPECT_EQ(work.remaining(JobId(7)), kGuess);
  work.on_arrived(JobId(7), seconds(100));
  work.on_arrived(JobId(3), seconds(200));
  EXPECT_EQ(work.remaining(JobId(7)), seconds(100));
  EXPECT_EQ(work.remaining(JobId(3)), seconds(200));
  EXPECT_EQ(work.remaining(JobId(5)), kGuess);
}

class Halves : public ExactWork {
 public:
  Duration remaining(JobId) const override { return left; }
  Duration left = seconds(80);
};

TEST_F(KnownWorkTest, TheExactSourceIsTakenWhereThereIsOne) {
  Halves world;
  KnownWork work(jobs_, &world, WorkSource::kExact, {});
  work.on_arrived(kJob, seconds(1));
  work.on_run_begin(kJob, Rate::one(), {});
  world.left = seconds(30);
  EXPECT_EQ(work.left(kJob).source, WorkSource::kExact);
  EXPECT_EQ(work.remaining(kJob), seconds(30));
  EXPECT_EQ(work.done(kJob), seconds(50));
  EXPECT_EQ(work.total(kJob), seconds(80));
  work.on_report(kJob, seconds(7));
  EXPECT_EQ(work.remaining(kJob), seconds(30));
}

}  // namespace
}  // namespace fairlead
