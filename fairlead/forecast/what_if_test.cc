#include "fairlead/forecast/what_if.h"

#include <gtest/gtest.h>

namespace fairlead {
namespace {

// Returns a queue for one GPU, on which ann's job 1 runs. Bob's job 2 is short; job 3 needs too many GPUs.
QueueNow queue() {
  const ClusterAnswer cluster{
      .policy = "fifo",
      .policy_options = "skip=true",
      .nodes = {
          {.name = "V100", .type = "V100", .gpus = {{.index = 0, .state = "busy", .job = 1}}}}};
  std::vector<JobAnswer> jobs(3);
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    jobs[i].id = static_cast<std::int64_t>(i) + 1;
    jobs[i].user = i == 1 ? "bob" : "ann";
    jobs[i].state = "waiting";
  }
  jobs[0].state = "running";
  jobs[0].on = {{.node = "V100", .gpus = {0}}};
  jobs[0].declared_s = 10'000;
  jobs[1].declared_s = 100;
  jobs[2].gpus = 4;
  return queue_now(cluster, jobs, {}).value();
}

TEST(WhatIf, EachPolicyHasItsFigures) {
  const QueueNow now = queue();
  const auto fifo = what_if(now, now.policy);
  ASSERT_TRUE(fifo) << fifo.error().message;
  EXPECT_EQ(fifo->policy, "fifo:skip=true");
  EXPECT_TRUE(fifo->runs_now);
  EXPECT_EQ(fifo->jobs, 3);
  EXPECT_EQ(fifo->ended, 2);
  EXPECT_GE(fifo->wait_max_s.value(), 10'000);
  EXPECT_GE(fifo->end_last_s.value(), 10'100);
  EXPECT_NEAR(fifo->end_mean_s.value(), 10'050, 100);
  const auto shortest = what_if(now, "srtf");
  ASSERT_TRUE(shortest) << shortest.error().message;
  EXPECT_FALSE(shortest->runs_now);
  EXPECT_LT(shortest->end_mean_s.value(), 5300);
  ASSERT_EQ(shortest->users.size(), 2U);
  EXPECT_EQ(shortest->users[0].user, "ann");
  EXPECT_EQ(shortest->users[0].jobs, 2);
  EXPECT_LT(shortest->users[1].end_mean_s.value(), 200);
  EXPECT_GT(fifo->users[1].end_mean_s.value(), 10'000);
  EXPECT_FALSE(what_if(now, "no-such-policy"));
}

}  // namespace
}  // namespace fairlead
