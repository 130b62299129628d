#include "fairlead/policy/fairlead/sizes.h"

#include "fairlead/model/job_spec.h"

#include <gtest/gtest.h>

#include <map>
#include <vector>

namespace fairlead {
namespace {

// Jobs that ask for one GPU, with speeds by size, and the sizes that they bid for.
struct Market {
  void add(const std::map<std::uint32_t, double>& speeds, double weight = 1,
           std::uint32_t task_gpus = 1) {
    const JobId job(speed.size());
    const JobSpec spec{.job = job,
                       .user = UserId(0),
                       .gpus = speeds.begin()->first,
                       .gpus_min = speeds.begin()->first,
                       .gpus_max = speeds.rbegin()->first,
                       .task_gpus = task_gpus};
    jobs.add(spec, {});
    speed.push_back(speeds);
    bidders.push_back(
        {.job = job, .kind = job.row(), .remaining = hours(1), .weight = weight, .gpus = 1});
  }
  std::vector<std::uint32_t> sizes(std::uint32_t gpus) {
    const auto speed_of = [&](JobId job, std::uint32_t size) {
      const auto at = speed[job.row()].find(size);
      return at == speed[job.row()].end() ? 0 : at->second;
    };
    Sizes().choose(jobs, gpus, {speed_of}, bidders);
    std::vector<std::uint32_t> sizes;
    for (const HadarBidder& bidder : bidders) sizes.push_back(bidder.gpus);
    return sizes;
  }

  Jobs jobs;
  std::vector<std::map<std::uint32_t, double>> speed;
  std::vector<HadarBidder> bidders;
};

using Gpus = std::vector<std::uint32_t>;

TEST(Sizes, GoWhereAStepIsWorthMostPerGpu) {
  Market market;
  market.add({{1, 1}, {2, 1.9}, {3, 2.7}, {4, 3.4}});   // steps of 1, 0.9, 0.8, 0.7
  market.add({{1, 1}, {2, 1.75}, {3, 2.3}, {4, 2.7}});  // steps of 1, 0.75, 0.55, 0.4
  EXPECT_EQ(market.sizes(2), (Gpus{1, 1}));
  EXPECT_EQ(market.sizes(4), (Gpus{3, 1}));
  EXPECT_EQ(market.sizes(5), (Gpus{3, 2}));
  EXPECT_EQ(market.sizes(8), (Gpus{4, 4}));
}

TEST(Sizes, OfAHeavierJobAreLarger) {
  Market market;
  market.add({{1, 1}, {2, 1.5}});
  market.add({{1, 1}, {2, 1.5}}, 3);
  EXPECT_EQ(market.sizes(2), (Gpus{1, 2}));  // 1.5 for the second GPU, against 1
}

TEST(Sizes, SkipWhatGainsLessThanTheNext) {
  Market market;
  market.add({{1, 1}, {2, 1.1}, {3, 1.2}, {4, 3}});  // 3 more GPUs gain 2/3 each
  market.add({{1, 0.5}});
  EXPECT_EQ(market.sizes(4), (Gpus{4, 1}));  // not two of the first
}

TEST(Sizes, AreNotLargerThanWhatThereIs) {
  Market market;
  market.add({{1, 1}, {2, 2}, {3, 3}, {4, 4}});
  EXPECT_EQ(market.sizes(3), (Gpus{3}));
}

TEST(Sizes, AreThoseThatRunAndAreFasterThanSmallerOnes) {
  Market market;
  market.add({{1, 0}, {2, 1}, {3, 0.9}, {4, 1}});
  EXPECT_EQ(market.sizes(8), (Gpus{2}));
  Market none;
  none.add({{1, 0}, {2, 0}});
  EXPECT_EQ(none.sizes(8), (Gpus{1}));  // what it asks for
}

TEST(Sizes, AreWholeTasks) {
  Market market;
  market.add({{2, 1}, {3, 9}, {4, 1.8}}, 1, 2);
  EXPECT_EQ(market.sizes(8), (Gpus{4}));
}

}  // namespace
}  // namespace fairlead
