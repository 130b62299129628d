#include "fairlead/metrics/timeline.h"

#include <gtest/gtest.h>

namespace fairlead {
namespace {

const UserId kAnn(0);
const UserId kBob(1);

// Two users of one ticket each on 4 GPUs.
class TimelineTest : public testing::Test {
 protected:
  TimelineTest() {
    for (int user = 0; user < 2; ++user) shares_.add_user(1);
    shares_.set_gpus({0}, 4);
  }
  Timeline begin(TimelineOptions options, Time t) {
    Timeline timeline(options);
    timeline.add_user();
    timeline.add_user();
    timeline.begin(t);
    return timeline;
  }
  void submit(Timeline& timeline, Time t, UserId user, std::int64_t gpus) {
    timeline.advance(t, shares_);
    shares_.add_demand(t, user, gpus);
    timeline.change(t, user, {.gpus_allocated = 0, .running = 0, .waiting = 1});
  }
  void start(Timeline& timeline, Time t, UserId user, std::int64_t gpus) {
    timeline.advance(t, shares_);
    timeline.change(t, user, {.gpus_allocated = gpus, .running = 1, .waiting = -1});
  }
  void finish(Timeline& timeline, Time t, UserId user, std::int64_t gpus) {
    timeline.advance(t, shares_);
    shares_.add_demand(t, user, -gpus);
    timeline.change(t, user, {.gpus_allocated = -gpus, .running = -1, .waiting = 0});
  }

  ShareMeter shares_;
};

TEST_F(TimelineTest, GivesIntegralsPerBinAndUser) {
  Timeline timeline = begin({.bin = {1000}, .bins_max = 8}, {500});
  submit(timeline, {500}, kAnn, 4);
  start(timeline, {700}, kAnn, 4);
  submit(timeline, {1500}, kBob, 2);
  finish(timeline, {2500}, kAnn, 4);
  start(timeline, {2500}, kBob, 2);
  finish(timeline, {2600}, kBob, 2);
  timeline.finish({9000}, {2600}, shares_);

  const auto& rows = timeline.rows();
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(rows[0].bin, 0);
  EXPECT_EQ(rows[0].user, kAnn);
  EXPECT_EQ(rows[0].allocated.gpu_ms, 4 * 800);
  EXPECT_EQ(rows[0].waiting_job_ms, 200);
  EXPECT_EQ(rows[0].running_job_ms, 800);
  EXPECT_DOUBLE_EQ(rows[0].entitled_gpu_ms, 4 * 1000);
  EXPECT_EQ(rows[1].bin, 1);
  EXPECT_EQ(rows[1].user, kAnn);
  EXPECT_DOUBLE_EQ(rows[1].entitled_gpu_ms, 2 * 1000);
  EXPECT_EQ(rows[2].user, kBob);
  EXPECT_EQ(rows[2].waiting_job_ms, 1000);
  EXPECT_DOUBLE_EQ(rows[2].entitled_gpu_ms, 2 * 1000);
  EXPECT_EQ(rows[3].bin, 2);
  EXPECT_EQ(rows[3].user, kBob);
  EXPECT_EQ(rows[3].allocated.gpu_ms, 2 * 100);
  EXPECT_EQ(timeline.start(2).ms, 2500);
  EXPECT_EQ(timeline.duration(1).ms, 1000);
  EXPECT_EQ(timeline.duration(2).ms, 100);
}

TEST_F(TimelineTest, MergesNeighboursRatherThanGrow) {
  Timeline timeline = begin({.bin = {10}, .bins_max = 4}, {0});
  submit(timeline, {0}, kAnn, 1);
  start(timeline, {0}, kAnn, 1);
  finish(timeline, {95}, kAnn, 1);
  timeline.finish({95}, {95}, shares_);
  // 10 ms and 20 ms bins do not suffice: three of 40 ms.
  ASSERT_EQ(timeline.rows().size(), 3u);
  EXPECT_EQ(timeline.rows()[0].allocated.gpu_ms, 40);
  EXPECT_EQ(timeline.rows()[1].allocated.gpu_ms, 40);
  EXPECT_EQ(timeline.rows()[2].allocated.gpu_ms, 15);
  EXPECT_EQ(timeline.start(2).ms, 80);
}

TEST_F(TimelineTest, AMergedBinHasWhatItsPartsHad) {
  Timeline timeline = begin({.bin = {10}, .bins_max = 4}, {0});
  submit(timeline, {0}, kAnn, 1);
  start(timeline, {50}, kAnn, 1);
  finish(timeline, {95}, kAnn, 1);
  timeline.finish({95}, {95}, shares_);
  ASSERT_EQ(timeline.rows().size(), 3u);
  EXPECT_EQ(timeline.rows()[0].waiting_job_ms, 40);
  EXPECT_EQ(timeline.rows()[1].waiting_job_ms, 10);
  EXPECT_EQ(timeline.rows()[1].running_job_ms, 30);
  EXPECT_DOUBLE_EQ(timeline.rows()[1].entitled_gpu_ms, 40);
  EXPECT_EQ(timeline.rows()[2].running_job_ms, 15);
}

TEST_F(TimelineTest, LeapsOverIdleTimeWithoutLosingAny) {
  Timeline timeline = begin({.bin = {1}, .bins_max = 4}, {0});
  submit(timeline, {0}, kAnn, 1);
  start(timeline, {0}, kAnn, 1);
  finish(timeline, {3}, kAnn, 1);
  const Time later{std::int64_t{1} << 40};
  submit(timeline, later, kBob, 2);
  start(timeline, later, kBob, 2);
  finish(timeline, later + milliseconds(5), kBob, 2);
  timeline.finish(later + milliseconds(5), later + milliseconds(5), shares_);
  ASSERT_EQ(timeline.rows().size(), 2u);
  EXPECT_EQ(timeline.rows()[0].allocated.gpu_ms, 3);
  EXPECT_DOUBLE_EQ(timeline.rows()[0].entitled_gpu_ms, 3);
  EXPECT_EQ(timeline.rows()[1].allocated.gpu_ms, 10);
  EXPECT_DOUBLE_EQ(timeline.rows()[1].entitled_gpu_ms, 10);
  EXPECT_LT(timeline.rows()[1].bin, 4);
}

}  // namespace
}  // namespace fairlead
