#include "fairlead/metrics/weighted_gpu_time.h"

#include "fairlead/journal/testing_journal.h"

#include <gtest/gtest.h>

namespace fairlead {
namespace {

constexpr std::int64_t kHourMs = 3'600'000;

// The cluster of TestJournal has 4 V100 on the first node and 4 K80 on the second.
WeightedGpuTime by_type() {
  IdVector<GpuTypeId, double> weights;
  weights.push_back(3);
  weights.push_back(1);
  return WeightedGpuTime(std::move(weights));
}

TEST(WeightedGpuTime, WeighsEachGpuOfAJobByItsType) {
  WeightedGpuTime time = by_type();
  TestJournal journal(time);
  journal.begin(2, {1});
  journal.arrive(0, 0, {.user = 0, .gpus = 3, .work_ms = 4 * kHourMs});
  journal.place(0, 0, {.gang = {{NodeId(0), 2}, {NodeId(1), 1}}});
  journal.happen<record::Stop>(1 * kHourMs, 0);
  journal.place(2 * kHourMs, 0, {.gang = {{NodeId(1), 3}}});
  journal.happen<record::Finished>(5 * kHourMs, 0);
  journal.end(5 * kHourMs, {.finished = 1});
  EXPECT_DOUBLE_EQ(time.of(JobId(0)), 7 * 1 + 3 * 3);
  EXPECT_DOUBLE_EQ(time.of_jobs(), 16);
  EXPECT_DOUBLE_EQ(time.of_usable(), 5 * (4 * 3 + 4 * 1)) << "no GPU was down";
  EXPECT_EQ(time.of(JobId(7)), 0) << "no record names it";
}

TEST(WeightedGpuTime, CountsUsableGpusFromTheFirstArrivalToTheLastEnd) {
  WeightedGpuTime time = by_type();
  TestJournal journal(time);
  journal.begin(2, {1});
  journal.arrive(1 * kHourMs, 0, {.user = 0, .gpus = 1, .work_ms = 2 * kHourMs});
  journal.place(1 * kHourMs, 0, {.gang = {{NodeId(0), 1}}});
  journal.node<record::GpusDown>(2 * kHourMs, 1);
  journal.happen<record::Finished>(3 * kHourMs, 0);
  journal.end(9 * kHourMs, {.finished = 1});
  EXPECT_DOUBLE_EQ(time.of_usable(), 1 * 16 + 1 * 12);
}

TEST(WeightedGpuTime, CountsJobsThatStillRunAtTheEnd) {
  WeightedGpuTime time = by_type();
  TestJournal journal(time);
  journal.begin(2, {1});
  journal.arrive(0, 0, {.user = 0, .gpus = 1, .work_ms = 8 * kHourMs});
  journal.place(0, 0, {.gang = {{NodeId(0), 1}}});
  journal.end(2 * kHourMs, {.pending = 1});
  EXPECT_DOUBLE_EQ(time.of(JobId(0)), 6);
  EXPECT_DOUBLE_EQ(time.of_usable(), 32);
}

}  // namespace
}  // namespace fairlead
