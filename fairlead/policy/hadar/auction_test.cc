#include "fairlead/policy/hadar/auction.h"

#include "testing/world.h"

#include <gtest/gtest.h>

namespace fairlead {
namespace {

// Gives every job the weight of its row, and job 0 another one on its own GPUs.
class Weights : public Policy {
 public:
  struct Of {
    double kept = 0;  // job 0's on its own GPUs
    std::vector<double> jobs;
  };

  explicit Weights(Of weights)
      : weights_(std::move(weights)),
        auction_({.round = seconds(100),
                  .switch_cost = seconds(10),
                  .search = {.beam = 8, .mixed = false, .work_conserving = false},
                  .prices = HadarAuction::Prices::kClearing,
                  .preempt = true,
                  .between = HadarAuction::Between::kFill}) {}

  std::string_view name() const override { return "weights"; }
  Needs needs() const override { return {.rates = RatesNeeded::kTable, .work = kAnyWork}; }
  void decide(const View& view, Plan& plan) override {
    const auto weigh = [&](std::vector<HadarBidder>& bidders, bool /*all*/) {
      for (HadarBidder& bidder : bidders) {
        bidder.weight = weights_.jobs[bidder.job.row()];
        if (bidder.job == JobId(0)) bidder.kept_weight = weights_.kept;
      }
    };
    auction_.decide(view, plan, weigh, [](JobId) { return false; });
  }
  void fields(Archive& archive) override { archive(auction_); }

 private:
  const Of weights_;
  HadarAuction auction_;
};

// Job 0 has the only GPU when job 1 arrives in its first round. Returns whether it loses it in the second.
bool is_stopped(const Weights::Of& weights) {
  World world{.cluster = "1xV100:1", .until = Time{seconds(150).ms}};
  world.jobs = {{.work = hours(1)}, {.submit = {50'000}, .work = hours(1)}};
  const Outcome outcome = run(world, [&] { return std::make_unique<Weights>(weights); });
  EXPECT_EQ(outcome.problems, std::vector<std::string>{});
  return outcome.jobs[0].preemptions > 0;
}

TEST(HadarAuction, AJobOnItsOwnGpusSavesASwitchOfItsWeight) {
  EXPECT_FALSE(is_stopped({.jobs = {1, 1.05}}));
  EXPECT_TRUE(is_stopped({.jobs = {1, 1.15}}));
}

TEST(HadarAuction, TheWeightOfAJobOnItsOwnGpusCountsIfItIsLarger) {
  EXPECT_FALSE(is_stopped({.kept = 1.5, .jobs = {1, 1.4}}));
  EXPECT_TRUE(is_stopped({.kept = 1.5, .jobs = {1, 1.6}}));
  EXPECT_FALSE(is_stopped({.kept = 0.5, .jobs = {1, 1.05}}));
  EXPECT_FALSE(is_stopped({.kept = 1.5, .jobs = {0.01, 1.4}}));
}

}  // namespace
}  // namespace fairlead
