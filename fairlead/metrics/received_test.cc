#include "fairlead/metrics/received.h"

#include <gtest/gtest.h>

namespace fairlead {
namespace {

const UserId kUser(0);
const JobId kJob(0);
const std::vector<Slice> kTwoGpus = {{NodeId(0), 2}};
const std::vector<Slice> kOneGpu = {{NodeId(1), 1}};

// One user with a job that asked for 2 GPUs, of speed 0.8 on its part of every type.
ReceivedMeter meter_of(Received received) {
  IdVector<JobId, double> mix_speeds;
  mix_speeds.push_back(0.8);
  ReceivedMeter meter(received, std::move(mix_speeds));
  meter.add_user();
  meter.add_job(kJob, kUser, 2);
  return meter;
}

record::Place placed(Duration overhead, double rate = 1) {
  return {.job = kJob, .gang = kTwoGpus, .rate = Rate::of(rate), .overhead = overhead};
}

TEST(Received, AllocatedIsAllFromThePlacementOn) {
  ReceivedMeter meter = meter_of(Received::kAllocated);
  meter.place({10}, placed({4}, 0.5));
  EXPECT_EQ(meter.gpu_ms(kUser, {12}), 4);
  meter.end_run({20}, kJob);
  EXPECT_EQ(meter.gpu_ms(kUser, {30}), 20);
}

TEST(Received, UsefulIsWhatComesAfterTheOverhead) {
  ReceivedMeter meter = meter_of(Received::kUseful);
  meter.place({10}, placed({4}, 0.5));
  EXPECT_EQ(meter.gpu_ms(kUser, {12}), 0);
  EXPECT_EQ(meter.gpu_ms(kUser, {17}), 6);
  meter.end_run({20}, kJob);
  // The next run ends within its overhead, and the one after it starts before that overhead would be over.
  meter.place({30}, placed({10}));
  meter.end_run({35}, kJob);
  meter.place({36}, placed({8}));
  EXPECT_EQ(meter.gpu_ms(kUser, {43}), 12);
  EXPECT_EQ(meter.gpu_ms(kUser, {45}), 14);
}

TEST(Received, EffectiveIsWorthTheSpeedRelativeToThatOnEveryType) {
  ReceivedMeter meter = meter_of(Received::kEffective);
  meter.place({0}, placed({5}, 0.4));
  meter.change_rate({2}, kJob, Rate::of(0.2));
  EXPECT_NEAR(meter.gpu_ms(kUser, {9}), 2 * 4 * 0.25, 1e-6);
  meter.change_rate({9}, kJob, Rate::of(1.6));
  EXPECT_NEAR(meter.gpu_ms(kUser, {10}), 2 * 4 * 0.25 + 2 * 2, 1e-6);
}

TEST(Received, CopiesWorkTogetherOnceTheLastIsReady) {
  ReceivedMeter meter = meter_of(Received::kEffective);
  meter.place({0}, placed({5}, 0.4));
  record::Place copy = placed({8}, 0.4);
  copy.gang = kOneGpu;
  copy.copy = 1;
  meter.place({0}, copy);
  EXPECT_EQ(meter.gpu_ms(kUser, {8}), 0);
  EXPECT_NEAR(meter.gpu_ms(kUser, {10}), 2 * 2, 1e-6);
  ReceivedMeter allocated = meter_of(Received::kAllocated);
  allocated.place({0}, placed({5}));
  allocated.place({0}, copy);
  EXPECT_EQ(allocated.gpu_ms(kUser, {10}), 30);
}

TEST(Received, WhereStartsAreReportedTheOverheadLastsUntilThen) {
  ReceivedMeter meter = meter_of(Received::kUseful);
  record::Place place = placed({5});
  place.is_reported = true;
  meter.place({0}, place);
  EXPECT_EQ(meter.gpu_ms(kUser, {20}), 0);
  meter.start_work({20}, kJob);
  EXPECT_EQ(meter.gpu_ms(kUser, {23}), 6);
}

}  // namespace
}  // namespace fairlead
