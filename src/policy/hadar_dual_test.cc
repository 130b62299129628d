#include "base/rng.h"
#include "policy/hadar_testing.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace fairlead {
namespace {

constexpr NodeId n0{0}, n1{1};

double solved(HadarStage& stage, const HadarSearch& search) {
  HadarDual dual(stage.cluster, search);
  dual.solve(stage.round());
  return dual.worth();
}

double exact(HadarStage& stage) {
  HadarDual dual(stage.cluster, {});
  dual.solve_exactly(stage.round());
  return dual.worth();
}

TEST(HadarDual, ThreeGpusOnTwoFastAndOneSlowRunMixed) {
  HadarStage stage("1xV100:2,1xK80:1");
  stage.bid(3, {4, 1});
  stage.set_prices(0.25, 4);
  HadarDual dual(stage.cluster, {});
  dual.solve(stage.round());
  EXPECT_EQ(slices(dual.gang(0)), (std::vector<Slice>{{n0, 2}, {n1, 1}}));
  EXPECT_DOUBLE_EQ(dual.payoff(0), 3 - 0.75);
}

TEST(HadarDual, FastGpusGoToWhoGainsMostFromThem) {
  HadarStage stage("1xV100:1,1xK80:1");
  stage.bid(1, {10, 9});
  stage.bid(1, {8, 1});
  HadarDual dual(stage.cluster, {});
  dual.solve(stage.round());
  EXPECT_EQ(slices(dual.gang(0)), (std::vector<Slice>{{n1, 1}}));
  EXPECT_EQ(slices(dual.gang(1)), (std::vector<Slice>{{n0, 1}}));
  EXPECT_DOUBLE_EQ(dual.worth(), 17);
}

TEST(HadarDual, NobodyBuysAbovePriceUnlessGpusWouldIdle) {
  HadarStage stage("1xV100:2");
  stage.bid(1, {4});
  stage.bid(1, {1.5});
  stage.set_prices(1, 4);  // 2 once one is given out
  HadarDual strict(stage.cluster, {.work_conserving = false});
  strict.solve(stage.round());
  EXPECT_FALSE(strict.gang(0).empty());
  EXPECT_TRUE(strict.gang(1).empty());
  HadarDual conserving(stage.cluster, {});
  conserving.solve(stage.round());
  EXPECT_FALSE(conserving.gang(1).empty());
  EXPECT_DOUBLE_EQ(conserving.payoff(1), -0.5);
  EXPECT_EQ(conserving.free().on[n0], 0U);
}

TEST(HadarDual, AJobKeepsItsGangUnlessAnotherIsWorthMoreThanTheSwitch) {
  HadarStage stage("2xV100:2");
  HadarBid& bid = stage.bid(1, {3});
  const Slice held[] = {{n1, 1}};
  bid.held = held;
  bid.held_worth = 3.2;
  HadarDual dual(stage.cluster, {});
  dual.solve(stage.round());
  EXPECT_EQ(slices(dual.gang(0)), (std::vector<Slice>{{n1, 1}}));
  stage.bids[0].held_worth = 2.9;
  dual.solve(stage.round());
  EXPECT_EQ(slices(dual.gang(0)), (std::vector<Slice>{{n0, 1}}));
}

TEST(HadarDual, ALargeGangIsNotShutOutBySmallOnesOfLessWorth) {
  HadarStage stage("1xV100:4");
  stage.bid(1, {5});
  stage.bid(4, {4});
  EXPECT_DOUBLE_EQ(solved(stage, {}), 16);
}

// A random round of up to eight jobs, in the order in which Hadar has them.
HadarStage random_round(std::uint64_t seed) {
  Rng rng(seed);
  HadarStage stage(rng.below(2) == 0 ? "2xV100:2,1xP100:2,2xK80:2" : "1xV100:4,1xK80:4,1xK80:2");
  const std::uint64_t jobs = 3 + rng.below(6);
  for (std::uint64_t i = 0; i < jobs; ++i) {
    const double base = 1 + static_cast<double>(rng.below(100));
    const auto gpus = static_cast<std::uint32_t>(1 + rng.below(4));
    std::vector<double> per_gpu(stage.cluster.type_names.size());
    for (double& each : per_gpu) each = base / (1 + static_cast<double>(rng.below(50)) / 10);
    stage.bid(gpus, per_gpu, static_cast<double>(rng.below(5)) / 10);
  }
  std::ranges::sort(stage.bids, [](const HadarBid& a, const HadarBid& b) {
    return a.best() / a.gpus > b.best() / b.gpus;
  });
  return stage;
}

TEST(HadarDual, TheClearingPricesBoundWhatAnyChoiceIsWorth) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    HadarStage stage = random_round(seed);
    const HadarDual::Round round = stage.round();
    double bound = stage.clearing.cost(stage.free);
    for (const HadarBid& bid : stage.bids) bound += stage.clearing.gain(stage.cluster, bid);
    HadarDual dual(stage.cluster, {});
    dual.solve_exactly(round);
    ASSERT_LE(dual.worth(), bound * (1 + 1e-12)) << seed;
  }
}

// The figures are on the policy's page.
TEST(HadarDual, TheBeamIsCloseToTheExactChoice) {
  double worst = 0;
  double mean = 0;
  double worst_of_one = 0;
  double mean_of_one = 0;
  constexpr std::uint64_t kRounds = 500;
  for (std::uint64_t seed = 0; seed < kRounds; ++seed) {
    HadarStage stage = random_round(seed);
    const double best = exact(stage);
    const double gap = 1 - solved(stage, {.work_conserving = false}) / best;
    const double gap_of_one = 1 - solved(stage, {.beam = 1, .work_conserving = false}) / best;
    ASSERT_GE(gap, -1e-12) << seed;
    mean += gap / kRounds;
    worst = std::max(worst, gap);
    mean_of_one += gap_of_one / kRounds;
    worst_of_one = std::max(worst_of_one, gap_of_one);
  }
  RecordProperty("beam_64_mean", std::to_string(mean));
  RecordProperty("beam_64_worst", std::to_string(worst));
  RecordProperty("beam_1_mean", std::to_string(mean_of_one));
  RecordProperty("beam_1_worst", std::to_string(worst_of_one));
  EXPECT_LT(mean, 0.001);
  EXPECT_LT(worst, 0.05);
  EXPECT_LT(mean_of_one, 0.2);
}

// A full-size round, for which no exact choice can be found.
TEST(HadarDual, ALargeRoundIsCloseToTheBound) {
  Rng rng(1);
  HadarStage stage("100xV100:4,100xP100:4,100xK80:4");
  for (int i = 0; i < 2048; ++i) {
    const double base = 1 + static_cast<double>(rng.below(1000));
    const double slower = 1 + static_cast<double>(rng.below(20)) / 10;
    const double slowest = slower * (1 + static_cast<double>(rng.below(40)) / 10);
    stage.bid(std::uint32_t{1} << rng.below(4), {base, base / slower, base / slowest});
  }
  std::ranges::sort(stage.bids, [](const HadarBid& a, const HadarBid& b) {
    return a.best() / a.gpus > b.best() / b.gpus;
  });
  HadarDual dual(stage.cluster, {});
  dual.solve(stage.round());
  double bound = stage.clearing.cost(stage.free);
  for (const HadarBid& bid : stage.bids) bound += stage.clearing.gain(stage.cluster, bid);
  RecordProperty("below_bound", std::to_string(1 - dual.worth() / bound));
  EXPECT_LT(1 - dual.worth() / bound, 0.01);
}

TEST(HadarDual, EveryGpuGivenOutIsInOneGang) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    HadarStage stage = random_round(seed);
    stage.set_prices(0.1, 50);
    HadarDual dual(stage.cluster, {.beam = 8});
    dual.solve(stage.round());
    HadarFree left = stage.free;
    for (std::size_t i = 0; i < stage.bids.size(); ++i) {
      if (dual.gang(i).empty()) continue;
      ASSERT_TRUE(left.has(dual.gang(i)));
      ASSERT_EQ(gpus_of(dual.gang(i)), stage.bids[i].gpus);
      left.take(stage.cluster, dual.gang(i));
    }
    ASSERT_EQ(left.on, dual.free().on);
    ASSERT_EQ(left.of_type, dual.free().of_type);
  }
}

}  // namespace
}  // namespace fairlead
