#include "fairlead/policy/hadar/early_finishes.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace fairlead {
namespace {

struct Bids {
  void add(double left_s, std::uint32_t gang = 1, double mean = 1, double best = 1) {
    bidders.push_back({.job = JobId(bidders.size())});
    asked.push_back({left_s, gang, {.gpus = gang, .mean = mean, .best = best}});
  }
  std::span<EarlyFinishes::Row> order(std::uint32_t gpus) {
    finishes.clear();
    for (std::size_t i = 0; i < bidders.size(); ++i) {
      finishes.add(bidders[i], asked[i].gang, asked[i].speeds, asked[i].left_s);
    }
    return finishes.order(gpus);
  }
  std::vector<std::size_t> jobs(std::uint32_t gpus) {
    std::vector<std::size_t> jobs;
    for (const EarlyFinishes::Row& row : order(gpus)) jobs.push_back(row.bidder->job.row());
    return jobs;
  }

  struct Asked {
    double left_s = 0;
    std::uint32_t gang = 1;
    JobKinds::Speeds speeds;
  };
  std::vector<HadarBidder> bidders;
  std::vector<Asked> asked;
  EarlyFinishes finishes;
};

TEST(EarlyFinishes, OrdersByGpuSecondsOnTheMeanGpu) {
  Bids bids;
  bids.add(100, 4);          // 400 GPU-seconds
  bids.add(300);             // 300
  bids.add(150, 1, 0.5, 1);  // 300 on a mean GPU of half the speed
  bids.add(10);
  EXPECT_EQ(bids.jobs(8), (std::vector<std::size_t>{3, 1, 2, 0}));
  EXPECT_EQ(bids.order(8)[2].left_s, 300);
}

TEST(EarlyFinishes, ValuesAStepByTheJobsBehindAndTheJobItself) {
  Bids bids;
  bids.add(10);
  bids.add(20, 2, 0.6, 1);
  const auto rows = bids.order(4);
  const double first = std::hypot(0.5, 2 / 4.0);  // two jobs with at least as much work left
  const double second =
      std::hypot(0.15, 1 / 4.0);  // half of the 0.6 / 2 s that a step saves at best
  EXPECT_DOUBLE_EQ(rows[0].value, 1);
  EXPECT_DOUBLE_EQ(rows[1].value, second / first);
}

// Behind a long queue, order decides; at its end, each job counts alike, and GPUs go where they gain most.
TEST(EarlyFinishes, EvensOutTheLastJobs) {
  Bids queue;
  for (int i = 0; i < 100; ++i) queue.add(1000 + i);
  const auto rows = queue.order(10);
  EXPECT_LT(rows[50].value, 0.6);
  Bids last;
  for (int i = 0; i < 4; ++i) last.add(1000 + i);
  EXPECT_GT(last.order(10).back().value, 0.75);
}

TEST(EarlyFinishes, HasAValueForAJobThatRunsNowhere) {
  Bids bids;
  bids.add(10, 2, 0, 0);
  const auto rows = bids.order(0);  // no GPU is up
  EXPECT_EQ(rows[0].speed, 1);
  EXPECT_EQ(rows[0].value, 1);
}

}  // namespace
}  // namespace fairlead
