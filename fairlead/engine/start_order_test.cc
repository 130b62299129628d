#include "fairlead/engine/start_order.h"

#include <gtest/gtest.h>

namespace fairlead {
namespace {

constexpr std::int64_t kLow = -1;
constexpr std::int64_t kNormal = 0;
constexpr std::int64_t kHigh = 1'000;

OrderedJob running(std::size_t job, std::int64_t priority, std::uint32_t gpus = 1) {
  return {.job = JobId(job), .priority = priority, .gpus = gpus, .state = OrderedJob::State::kRuns};
}

OrderedJob waiting(std::size_t job, std::int64_t priority, std::uint32_t gpus = 1) {
  return {
      .job = JobId(job), .priority = priority, .gpus = gpus, .state = OrderedJob::State::kWaits};
}

OrderedJob held(std::size_t job, std::int64_t priority, std::uint32_t gpus = 1) {
  return {.job = JobId(job), .priority = priority, .gpus = gpus};
}

// No GPU is idle.
std::map<JobId, StartBlock> order(std::vector<OrderedJob> jobs, std::uint32_t gpus_max) {
  return start_order(std::move(jobs), gpus_max, [](JobId) { return false; });
}

std::vector<std::size_t> rows(const std::map<JobId, StartBlock>& blocked) {
  std::vector<std::size_t> rows;
  for (const auto& [job, block] : blocked) rows.push_back(job.row());
  return rows;
}

using Rows = std::vector<std::size_t>;

TEST(StartOrder, WhileAJobWaitsNoneOfALowerPriorityHasGpus) {
  const auto blocked =
      order({running(0, kLow), waiting(1, kNormal), held(2, kLow), waiting(3, kNormal)}, 0);
  EXPECT_EQ(rows(blocked), (Rows{0, 2}));
  EXPECT_EQ(blocked.at(JobId(0)).cause, StartBlock::Cause::kPriority);
  EXPECT_EQ(blocked.at(JobId(0)).by, JobId(1));
}

TEST(StartOrder, BesideAJobThatRunsThoseOfALowerPriorityTakeIdleGpus) {
  const std::vector<OrderedJob> jobs = {running(0, kLow), running(1, kHigh), waiting(2, kLow),
                                        held(3, kLow), held(4, kHigh)};
  EXPECT_EQ(rows(order({jobs.begin(), jobs.end() - 1}, 0)), (Rows{2, 3}));
  int idle = 1;
  const auto take = [&](JobId) { return idle-- > 0; };
  EXPECT_EQ(rows(start_order({jobs.begin(), jobs.end() - 1}, 0, take)), (Rows{3}));
  idle = 9;
  EXPECT_EQ(rows(start_order(jobs, 0, take)), (Rows{2, 3}));
}

TEST(StartOrder, ANewJobTakesNoGpusBeforeThePolicyHasDecided) {
  EXPECT_EQ(rows(order({running(0, kLow), waiting(1, kLow), held(2, kHigh)}, 0)), (Rows{1}));
}

TEST(StartOrder, BesideAJobThatDoesNotPreemptRunningOnesKeepTheirGpus) {
  OrderedJob patient = waiting(1, kHigh);
  patient.preempts = false;
  EXPECT_EQ(rows(order({running(0, kLow), patient, waiting(2, kNormal), held(3, kLow)}, 0)),
            (Rows{2, 3}));
}

TEST(StartOrder, AJobThatTheMachineCannotRunNowLetsOthersRun) {
  OrderedJob wide = waiting(0, kHigh, 8);
  wide.can_run = false;
  EXPECT_TRUE(order({wide, running(1, kLow), held(2, kLow)}, 0).empty());
}

TEST(StartOrder, TheLimitGoesToReleasedJobsAndNoneIsPassed) {
  const std::vector<OrderedJob> jobs = {held(0, kNormal, 3), running(1, kNormal),
                                        waiting(2, kNormal), held(3, kNormal)};
  EXPECT_EQ(rows(order(jobs, 4)), (Rows{0, 3}));
  EXPECT_EQ(order(jobs, 4).at(JobId(3)).cause, StartBlock::Cause::kLimit);
  EXPECT_TRUE(order(jobs, 6).empty());
}

TEST(StartOrder, ALoweredLimitTakesGpusFromTheYoungest) {
  EXPECT_EQ(rows(order({running(0, kNormal), running(1, kNormal), running(2, kNormal)}, 2)),
            (Rows{2}));
}

TEST(StartOrder, AJobAboveTheLimitHoldsNothingBack) {
  const auto blocked = order({held(0, kHigh, 8), held(1, kLow)}, 4);
  EXPECT_EQ(rows(blocked), (Rows{0}));
  EXPECT_EQ(blocked.at(JobId(0)).cause, StartBlock::Cause::kTooLarge);
}

TEST(StartOrder, AGangThatTheLimitHoldsBackGoesBeforeLowerPriorities) {
  EXPECT_EQ(rows(order({running(0, kHigh, 2), running(1, kLow, 2), held(2, kHigh, 3)}, 4)),
            (Rows{1, 2}));
}

}  // namespace
}  // namespace fairlead
