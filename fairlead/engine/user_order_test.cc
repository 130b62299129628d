#include "fairlead/engine/user_order.h"

#include "fairlead/engine/idle_gpus.h"
#include "fairlead/input/cluster_file.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string_view>

namespace fairlead {
namespace {

// Two nodes of four V100 and one of eight K80, and the jobs of one user.
class UserOrderTest : public testing::Test {
 protected:
  UserOrderTest() { apply(0, record::User{.user = UserId(0), .name = "ann", .tickets = 1}); }

  void apply(std::int64_t s, const decltype(Record::what)& what) {
    tables_.apply({Time{} + seconds(s), what});
  }
  // The tables have the job, which waits.
  void add(std::size_t row, std::uint32_t gpus, std::uint32_t task_gpus) {
    apply(0, record::Arrived{{.job = JobId(row),
                              .user = UserId(0),
                              .name = "job",
                              .model = "model",
                              .gpus = gpus,
                              .gpus_min = gpus,
                              .gpus_max = gpus,
                              .task_gpus = task_gpus,
                              .types = kAllTypes}});
  }

  UserOrder order_;
  Tables tables_{load_cluster("2xV100:4,1xK80:8").value()};
};

TEST_F(UserOrderTest, AGangTakesIdleGpusOfOneTypeWithEachTaskOnOneNode) {
  add(0, 6, 3);  // one task a V100 node
  add(1, 2, 2);  // one GPU is left on each of these
  add(2, 4, 4);
  add(3, 4, 4);
  add(4, 2, 1);
  IdleGpus idle(tables_);
  EXPECT_TRUE(idle.take(JobId(0)));
  EXPECT_TRUE(idle.take(JobId(1)));
  EXPECT_TRUE(idle.take(JobId(2)));
  EXPECT_FALSE(idle.take(JobId(3)));
  EXPECT_TRUE(idle.take(JobId(4)));
}

TEST_F(UserOrderTest, AfterTwoLeavesInTenMinutesNoneTakesIdleGpusForTen) {
  add(0, 8, 4);  // high
  add(1, 1, 1);  // low
  const auto at = [&](std::int64_t s, OrderedJob::State high, OrderedJob::State low) {
    const std::vector<OrderedJob> jobs = {
        {.job = JobId(0), .priority = 1, .gpus = 8, .state = high},
        {.job = JobId(1), .priority = 0, .gpus = 1, .state = low}};
    order_.update(Time{} + seconds(s), jobs, 0, tables_);
    return order_.blocked().contains(JobId(1));
  };
  using enum OrderedJob::State;
  const Slice slices[] = {{.node = NodeId(2), .gpus = 1}};
  const std::uint64_t masks[] = {1};
  const auto run = [&](std::int64_t s) {
    apply(s, record::Place{.job = JobId(1), .gang = slices, .gpu_masks = masks});
  };
  const auto stop = [&](std::int64_t s) { apply(s, record::Stop{.job = JobId(1)}); };
  EXPECT_FALSE(at(0, kRuns, kHeld));
  run(0);
  EXPECT_TRUE(at(10, kWaits, kRuns));
  stop(10);
  EXPECT_EQ(order_.due(), Time::never());
  EXPECT_FALSE(at(20, kRuns, kHeld));
  run(20);
  EXPECT_TRUE(at(30, kWaits, kRuns));
  stop(30);
  EXPECT_EQ(order_.due(), Time{} + seconds(630));
  EXPECT_TRUE(at(40, kRuns, kHeld));
  EXPECT_FALSE(at(630, kRuns, kHeld));
}

}  // namespace
}  // namespace fairlead
