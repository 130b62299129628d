#include "fairlead/base/rng.h"
#include "fairlead/policy/hadar/testing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace fairlead {
namespace {

constexpr NodeId n0{0}, n1{1};

constexpr HadarSearch kSearch{.beam = 64, .mixed = true, .work_conserving = true};
// GPUs that no job would buy stay free.
constexpr HadarSearch kSearchWithoutRest{.beam = 64, .mixed = true, .work_conserving = false};

double solved(HadarStage& stage, const HadarSearch& search) {
  HadarDual dual(stage.cluster, search);
  dual.solve(stage.round());
  return dual.worth();
}

double exact(HadarStage& stage) {
  HadarDual dual(stage.cluster, kSearch);
  dual.solve_exactly(stage.round());
  return dual.worth();
}

TEST(HadarDual, ThreeGpusOnTwoFastAndOneSlowRunMixed) {
  HadarStage stage("1xV100:2,1xK80:1");
  stage.bid(3, {4, 1});
  stage.set_prices(0.25, 4);
  HadarDual dual(stage.cluster, kSearch);
  dual.solve(stage.round());
  EXPECT_EQ(slices(dual.gang(0)), (std::vector<Slice>{{n0, 2}, {n1, 1}}));
  EXPECT_DOUBLE_EQ(dual.payoff(0), 3 - 0.75);
}

TEST(HadarDual, FastGpusGoToWhoGainsMostFromThem) {
  HadarStage stage("1xV100:1,1xK80:1");
  stage.bid(1, {10, 9});
  stage.bid(1, {8, 1});
  HadarDual dual(stage.cluster, kSearch);
  dual.solve(stage.round());
  EXPECT_EQ(slices(dual.gang(0)), (std::vector<Slice>{{n1, 1}}));
  EXPECT_EQ(slices(dual.gang(1)), (std::vector<Slice>{{n0, 1}}));
  EXPECT_DOUBLE_EQ(dual.worth(), 17);
}

TEST(HadarDual, NoJobBuysAbovePriceUnlessGpusWouldIdle) {
  HadarStage stage("1xV100:2");
  stage.bid(1, {4});
  stage.bid(1, {1.5});
  stage.set_prices(1, 4);  // 2 after one is given out
  HadarDual strict(stage.cluster, kSearchWithoutRest);
  strict.solve(stage.round());
  EXPECT_FALSE(strict.gang(0).empty());
  EXPECT_TRUE(strict.gang(1).empty());
  HadarDual conserving(stage.cluster, kSearch);
  conserving.solve(stage.round());
  EXPECT_FALSE(conserving.gang(1).empty());
  EXPECT_DOUBLE_EQ(conserving.payoff(1), -0.5);
  EXPECT_EQ(conserving.free().on[n0], 0U);
}

TEST(HadarDual, AJobKeepsItsGangUnlessAnotherIsWorthMoreThanTheSwitch) {
  HadarStage stage("2xV100:2");
  HadarBid& bid = stage.bid(1, {3});
  const Slice present[] = {{n1, 1}};
  bid.present = present;
  bid.present_worth = 3.2;
  HadarDual dual(stage.cluster, kSearch);
  dual.solve(stage.round());
  EXPECT_EQ(slices(dual.gang(0)), (std::vector<Slice>{{n1, 1}}));
  stage.bids[0].present_worth = 2.9;
  dual.solve(stage.round());
  EXPECT_EQ(slices(dual.gang(0)), (std::vector<Slice>{{n0, 1}}));
}

TEST(HadarDual, ALargeGangIsNotShutOutBySmallOnesOfLessWorth) {
  HadarStage stage("1xV100:4");
  stage.bid(1, {5});
  stage.bid(4, {4});
  EXPECT_DOUBLE_EQ(solved(stage, kSearch), 16);
}

// Returns a random round of up to eight jobs, in Hadar's order.
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
    for (std::size_t i = 0; i < stage.bids.size(); ++i) bound += stage.clearing.gain(i);
    HadarDual dual(stage.cluster, kSearch);
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
    const double gap = 1 - solved(stage, kSearchWithoutRest) / best;
    const double gap_of_one =
        1 - solved(stage, {.beam = 1, .mixed = true, .work_conserving = false}) / best;
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
  HadarDual dual(stage.cluster, kSearch);
  dual.solve(stage.round());
  double bound = stage.clearing.cost(stage.free);
  for (std::size_t i = 0; i < stage.bids.size(); ++i) bound += stage.clearing.gain(i);
  RecordProperty("below_bound", std::to_string(1 - dual.worth() / bound));
  EXPECT_LT(1 - dual.worth() / bound, 0.01);
}

// A random round of more jobs than there is room for; some run already. In every other one many
// values are equal.
HadarStage crowded_round(std::uint64_t seed) {
  Rng rng(seed);
  HadarStage stage(rng.below(2) == 0 ? "3xV100:4,2xP100:2,2xK80:4" : "2xV100:4,1xK80:8,2xK80:2");
  const double kinds = seed % 2 == 0 ? 1000 : 3;
  const auto drawn = [&] { return std::floor(1 + kinds * rng.uniform()); };
  HadarFree unallocated = stage.free;
  const std::uint64_t jobs = 10 + rng.below(40);
  for (std::uint64_t i = 0; i < jobs; ++i) {
    std::vector<double> per_gpu(stage.cluster.type_names.size());
    for (double& each : per_gpu) each = drawn();
    const std::uint32_t gpus = std::uint32_t{1} << rng.below(4);
    HadarBid& bid = stage.bid(gpus, per_gpu, static_cast<double>(rng.below(3)) / 4);
    const NodeId node(rng.below(stage.cluster.nodes()));
    if (rng.below(3) == 0 || unallocated.on[node] < gpus) continue;
    bid.present = stage.present.emplace_back(1, Slice{node, static_cast<std::uint16_t>(gpus)});
    bid.present_worth = gpus * drawn();
    unallocated.take(stage.cluster, bid.present);
  }
  std::ranges::sort(stage.bids, [](const HadarBid& a, const HadarBid& b) {
    const double density_a = a.best() / a.gpus;
    const double density_b = b.best() / b.gpus;
    return density_a != density_b ? density_a > density_b : a.job < b.job;
  });
  if (rng.below(2) == 0) stage.set_prices(0.1, kinds);
  return stage;
}

// The same search without any pruning.
struct PlainDraft {
  HadarFree free;
  double worth = 0;
  std::vector<std::vector<Slice>> gangs;  // by bid
  double score = 0;
};

PlainDraft plainly_solved(HadarStage& stage, const HadarDual::Round& round,
                          const HadarSearch& search) {
  HadarGangs gangs(stage.cluster, search.mixed);
  gangs.begin(stage.bids);
  std::vector<double> gains(stage.bids.size() + 1);
  for (std::size_t i = stage.bids.size(); i-- > 0;) {
    gains[i] = gains[i + 1] + round.clearing.gain(i);
  }
  std::vector<PlainDraft> drafts = {{.free = stage.free, .gangs = {}}};
  for (std::size_t i = 0; i < stage.bids.size(); ++i) {
    std::vector<PlainDraft> children;
    gangs.ask(stage.bids[i]);
    for (const PlainDraft& draft : drafts) {
      const double idle = draft.worth + gains[i + 1] + round.clearing.cost(draft.free);
      for (const HadarGang& gang : gangs.find(stage.rest(gangs, draft.free))) {
        if (!(gang.payoff > 0)) continue;
        const Gang taken = gangs.slices(gang);
        PlainDraft& child = children.emplace_back(draft);
        child.free.take(stage.cluster, taken);
        child.worth += gang.worth;
        child.gangs.push_back(slices(taken));
        child.score = idle + gang.worth - round.clearing.cost(stage.cluster, taken);
      }
      children.push_back(draft);
      children.back().gangs.emplace_back();
      children.back().score = idle;
    }
    std::ranges::stable_sort(children, std::greater(), &PlainDraft::score);
    drafts.clear();
    for (PlainDraft& child : children) {
      const auto is_alike = [&](const PlainDraft& kept) {
        return kept.free.of_type == child.free.of_type;
      };
      if (drafts.size() == search.beam || std::ranges::any_of(drafts, is_alike)) continue;
      drafts.push_back(std::move(child));
    }
  }
  return *std::ranges::max_element(drafts, {}, &PlainDraft::worth);
}

TEST(HadarDual, WhatTheSearchLeavesOutChangesNothing) {
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    HadarStage stage = crowded_round(seed);
    const HadarDual::Round round = stage.round();
    const HadarSearch search{
        .beam = std::uint32_t{1} << seed % 7, .mixed = seed % 3 != 0, .work_conserving = false};
    HadarDual dual(stage.cluster, search);
    dual.solve(round);
    const PlainDraft plain = plainly_solved(stage, round, search);
    ASSERT_EQ(dual.worth(), plain.worth) << seed;
    ASSERT_EQ(dual.free().on, plain.free.on) << seed;
    for (std::size_t i = 0; i < stage.bids.size(); ++i) {
      ASSERT_EQ(slices(dual.gang(i)), plain.gangs[i]) << seed << ", bid " << i;
    }
  }
}

TEST(HadarClearing, PricesAreThoseOfFivePlainPasses) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    HadarStage stage = crowded_round(seed);
    const auto types = ids<GpuTypeId>(stage.cluster.type_names.size());
    std::vector<double> prices(stage.cluster.type_names.size());
    for (int step = 0; step < 5 * static_cast<int>(prices.size()); ++step) {
      const GpuTypeId type(static_cast<std::size_t>(step) % prices.size());
      std::vector<std::pair<double, std::uint32_t>> offers;
      for (const HadarBid& bid : stage.bids) {
        double without = 0;
        for (GpuTypeId other : types) {
          if (other == type) continue;
          without = std::max(without, bid.best_on(other) - bid.gpus * prices[other.row()]);
        }
        const bool may_keep =
            !bid.present.empty() && stage.cluster.node_type[bid.present.front().node] != type;
        if (may_keep) {
          const GpuTypeId present = stage.cluster.node_type[bid.present.front().node];
          without = std::max(without, bid.present_worth - bid.gpus * prices[present.row()]);
        }
        offers.emplace_back((bid.best_on(type) - without) / bid.gpus, bid.gpus);
      }
      std::ranges::sort(offers, std::greater());
      std::uint32_t left = stage.free.of_type[type];
      auto offer = offers.begin();
      for (; offer != offers.end() && offer->second <= left; ++offer) left -= offer->second;
      prices[type.row()] = offer == offers.end() ? 0 : std::max(0.0, offer->first);
    }
    stage.clearing.fit(stage.cluster, stage.bids, stage.free);
    for (GpuTypeId type : types) ASSERT_EQ(stage.clearing.price(type), prices[type.row()]) << seed;
  }
}

TEST(HadarBeam, KeepsTheBestChildOfEachKeyInOrder) {
  HadarBeam beam;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Rng rng(seed);
    struct Offered {
      double score;
      std::uint32_t draft, gang;
      std::uint64_t key;
    };
    std::vector<Offered> offered;
    for (std::uint32_t i = 0; i < 100; ++i) {
      offered.push_back({static_cast<double>(rng.below(20)) - 5, i / 4, i % 4, rng.below(60)});
    }
    const std::size_t width = 1 + rng.below(60);
    const std::size_t runs = 1 + rng.below(4);
    beam.clear(runs, offered.size());
    for (const Offered& child : offered) {
      beam.offer(rng.below(runs), child.score, child.draft, child.gang, child.key);
    }
    std::ranges::stable_sort(offered, std::greater(), &Offered::score);
    std::vector<std::pair<std::uint32_t, std::uint32_t>> expected, kept;
    std::set<std::uint64_t> keys;
    for (const Offered& child : offered) {
      if (!keys.insert(child.key).second) continue;
      if (expected.size() < width) expected.emplace_back(child.draft, child.gang);
    }
    for (const HadarBeam::Child& child : beam.keep(width))
      kept.emplace_back(child.draft(), child.gang());
    ASSERT_EQ(kept, expected) << seed;
  }
}

TEST(HadarDual, EveryGpuGivenOutIsInOneGang) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    HadarStage stage = random_round(seed);
    stage.set_prices(0.1, 50);
    HadarDual dual(stage.cluster, {.beam = 8, .mixed = true, .work_conserving = true});
    dual.solve(stage.round());
    HadarFree left = stage.free;
    for (std::size_t i = 0; i < stage.bids.size(); ++i) {
      if (dual.gang(i).empty()) continue;
      for (Slice slice : dual.gang(i)) ASSERT_GE(left.on[slice.node], slice.gpus);
      ASSERT_EQ(gpus_of(dual.gang(i)), stage.bids[i].gpus);
      left.take(stage.cluster, dual.gang(i));
    }
    ASSERT_EQ(left.on, dual.free().on);
    ASSERT_EQ(left.of_type, dual.free().of_type);
  }
}

}  // namespace
}  // namespace fairlead
