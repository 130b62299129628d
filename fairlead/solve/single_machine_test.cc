#include "fairlead/solve/single_machine.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace fairlead {
namespace {

using Jobs = std::vector<MachineJob>;

TEST(SingleMachine, ShortJobsFirst) {
  EXPECT_DOUBLE_EQ(least_flow_time_ms(Jobs{{0, 30}, {0, 10}, {0, 20}}), 10 + 30 + 60);
  EXPECT_DOUBLE_EQ(least_makespan_ms(Jobs{{0, 30}, {0, 10}, {0, 20}}), 60);
}

TEST(SingleMachine, AShortNewcomerInterruptsALongJob) {
  // The long job runs 0..10 and 15..25.
  EXPECT_DOUBLE_EQ(least_flow_time_ms(Jobs{{0, 20}, {10, 5}}), 25 + 5);
  // A longer one waits.
  EXPECT_DOUBLE_EQ(least_flow_time_ms(Jobs{{0, 20}, {10, 15}}), 20 + 25);
}

TEST(SingleMachine, TheMachineIdlesUntilTheNextRelease) {
  EXPECT_DOUBLE_EQ(least_flow_time_ms(Jobs{{100, 10}, {0, 10}}), 20);
  EXPECT_DOUBLE_EQ(least_makespan_ms(Jobs{{100, 10}, {0, 10}}), 110);
  EXPECT_DOUBLE_EQ(least_flow_time_ms(Jobs{}), 0);
  EXPECT_DOUBLE_EQ(least_makespan_ms(Jobs{}), 0);
}

TEST(SingleMachine, TheSmallestGoesFirstForMeanBusyTimes) {
  // 0 to 10, 10 to 30 and 30 to 60.
  EXPECT_DOUBLE_EQ(least_mean_busy_time_ms(Jobs{{0, 30}, {0, 10}, {0, 20}}), 5 + 20 + 45);
  // The large job has 0 to 10 and 15 to 25; that it is nearly done does not matter.
  EXPECT_DOUBLE_EQ(least_mean_busy_time_ms(Jobs{{0, 20}, {10, 5}}), (5. + 20.) / 2 + 2.5);
  EXPECT_DOUBLE_EQ(least_mean_busy_time_ms(Jobs{{0, 20}, {18, 5}}), .9 * 9 + .1 * 24 + 2.5);
  EXPECT_DOUBLE_EQ(least_mean_busy_time_ms(Jobs{{100, 10}, {0, 10}, {50, 0}}), 10);
  EXPECT_DOUBLE_EQ(least_mean_busy_time_ms(Jobs{}), 0);
}

// Without interruption, in any order of priority.
double flow_in_order(const Jobs& jobs, const std::vector<std::size_t>& order) {
  double now = 0;
  double flow = 0;
  for (std::size_t i : order) {
    now = std::max(now, jobs[i].release_ms) + jobs[i].size_ms;
    flow += now - jobs[i].release_ms;
  }
  return flow;
}

RC_GTEST_PROP(SingleMachine, NoOrderIsBetter, ()) {
  Jobs jobs;
  const auto count = *rc::gen::inRange<std::size_t>(1, 6);
  for (std::size_t i = 0; i < count; ++i) {
    jobs.push_back({static_cast<double>(*rc::gen::inRange(0, 50)),
                    static_cast<double>(*rc::gen::inRange(0, 30))});
  }
  const double least = least_flow_time_ms(jobs);
  const double least_busy = least_mean_busy_time_ms(jobs);
  double sizes = 0;
  for (const MachineJob& job : jobs) sizes += job.size_ms;
  // If jobs run one after another, each completes half of its size after its mean busy time.
  RC_ASSERT(least_busy + sizes / 2 <= least + 1e-9);
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  do {
    RC_ASSERT(least <= flow_in_order(jobs, order) + 1e-9);
  } while (std::next_permutation(order.begin(), order.end()));
  RC_ASSERT(least >= sizes - 1e-9);
}

}  // namespace
}  // namespace fairlead
