#include "fairlead/model/communication.h"

#include "fairlead/input/models_file.h"

#include <gtest/gtest.h>

namespace fairlead {
namespace {

// 8 Gbit/s are 1 MB in a millisecond.
const Links kLinks = {.pair_gbps = 80, .node_gbps = 16, .rack_gbps = 8, .spine_gbps = 2};

TEST(Communication, OfOneWorkerTakesNoTime) {
  const Iteration one =
      iteration_of({.gradients_mb = 100, .compute_ms = 50}, 50, 1, Tier::kPair, kLinks);
  EXPECT_DOUBLE_EQ(one.alone_ms(), 50);
}

TEST(Communication, SendsTheGradientsAlmostTwiceOverTheSlowestLink) {
  const Communication model = {.gradients_mb = 100, .compute_ms = 50};
  const auto length_ms = [&](std::uint32_t gpus, Tier tier) {
    return iteration_of(model, 50, gpus, tier, kLinks).alone_ms();
  };
  EXPECT_DOUBLE_EQ(length_ms(2, Tier::kPair), 50 + 100 * 0.1);
  EXPECT_DOUBLE_EQ(length_ms(4, Tier::kNode), 50 + 150 * 0.5);
  EXPECT_DOUBLE_EQ(length_ms(4, Tier::kRack), 50 + 150);
  EXPECT_DOUBLE_EQ(length_ms(4, Tier::kSpine), 50 + 150 * 4);
}

TEST(Communication, IsNeverFasterThanTheLinksWithinAHost) {
  const Links links = {.pair_gbps = 80, .node_gbps = 16, .rack_gbps = 100, .spine_gbps = 100};
  EXPECT_EQ(ring_gbps(links, Tier::kSpine), 16);
  EXPECT_EQ(ring_gbps(links, Tier::kPair), 80);
}

TEST(Communication, HidesBehindComputationAsFarAsItOverlaps) {
  const Communication model = {.gradients_mb = 100, .compute_ms = 200, .overlap = 0.25};
  EXPECT_DOUBLE_EQ(iteration_of(model, 200, 2, Tier::kRack, kLinks).alone_ms(), 250);
  EXPECT_DOUBLE_EQ(iteration_of(model, 200, 2, Tier::kPair, kLinks).alone_ms(), 200);
  EXPECT_DOUBLE_EQ(iteration_of(model, 400, 2, Tier::kRack, kLinks).alone_ms(), 400)
      << "a slower GPU hides more";
}

TEST(Communication, LeavesTheExposedPartOfAnExchangeUnhidden) {
  const Communication model = {
      .gradients_mb = 100, .compute_ms = 200, .overlap = 0.25, .exposed = 0.3};
  EXPECT_DOUBLE_EQ(iteration_of(model, 200, 2, Tier::kRack, kLinks).alone_ms(), 250);
  EXPECT_DOUBLE_EQ(iteration_of(model, 400, 2, Tier::kRack, kLinks).alone_ms(), 430)
      << "30 ms of 100, though 100 could hide";
}

TEST(Communication, ComputingTimeFollowsFromTheLengthOfAnIteration) {
  for (const double overlap : {0.0, 0.25, 0.667, 1.0}) {
    for (const double exposed : {0.0, 0.3, 1.0}) {
      const Communication model = {.gradients_mb = 100, .overlap = overlap, .exposed = exposed};
      for (const double compute_ms : {5.0, 80.0, 200.0, 3000.0}) {
        for (const Tier tier : {Tier::kPair, Tier::kNode, Tier::kRack, Tier::kSpine}) {
          const double ms = iteration_of(model, compute_ms, 4, tier, kLinks).alone_ms();
          const auto found = compute_ms_of(model, ms, 4, tier, kLinks);
          // If the exchange hides all computation, the length is the same for any.
          const bool is_hidden = ms <= iteration_of(model, 0, 4, tier, kLinks).alone_ms();
          ASSERT_EQ(found.has_value(), !is_hidden)
              << overlap << ' ' << exposed << ' ' << compute_ms;
          EXPECT_NEAR(found.value_or(compute_ms), compute_ms, 1e-9 * ms)
              << overlap << ' ' << exposed;
        }
      }
    }
  }
}

TEST(Communication, OfAnIterationThatIsFasterThanItsLinksHasNoComputingTime) {
  const Communication model = {.gradients_mb = 100};
  EXPECT_FALSE(compute_ms_of(model, 100, 2, Tier::kRack, kLinks).has_value());
  EXPECT_DOUBLE_EQ(compute_ms_of(model, 101, 2, Tier::kRack, kLinks).value(), 1);
  EXPECT_DOUBLE_EQ(compute_ms_of(model, 1, 1, Tier::kPair, kLinks).value(), 1);
}

// Horovod on 128 hosts of 4 P100 that 25 Gbit/s join: 90 % of linear speed with Inception-v3 and
// ResNet-101, 68 % with VGG-16 (Sergeev and Del Balso, 2018, arXiv 1802.05799, section 4).
TEST(Communication, ComesWithinFivePercentOfHorovodOn512Gpus) {
  const Links links = {.pair_gbps = 160, .node_gbps = 160, .rack_gbps = 25, .spine_gbps = 25};
  const SpeedTable table = load_models("horovod").value();
  const auto of_linear = [&](std::string_view name) {
    const Communication& model = *table.find(name)->communication;
    const Iteration one = iteration_of(model, model.compute_ms, 512, Tier::kSpine, links);
    return one.compute_ms / one.alone_ms();
  };
  EXPECT_NEAR(of_linear("VGG-16"), 0.68, 0.05);
  EXPECT_NEAR(of_linear("Inception-v3"), 0.90, 0.05);
}

TEST(Communication, PaysTheLatencyOfEveryStep) {
  Links links = kLinks;
  links.latency_us = 500;
  const Iteration one =
      iteration_of({.gradients_mb = 0, .compute_ms = 1}, 1, 4, Tier::kRack, links);
  EXPECT_DOUBLE_EQ(one.alone_ms(), 1 + 2 * 3 * 0.5);
}

// 100 MB in tensors of at most 40 MB: with 2 workers a server has half of all; with 4 one has 40.
TEST(Communication, ByParameterServersTheLargestTensorIsTheBottleneck) {
  Communication model = {.gradients_mb = 100, .largest_tensor_mb = 40, .compute_ms = 50};
  Links links = kLinks;
  links.latency_us = 500;
  const auto length_ms = [&](std::uint32_t gpus) {
    return iteration_of(model, 50, gpus, Tier::kRack, links, Exchange::kParameterServers)
        .alone_ms();
  };
  EXPECT_DOUBLE_EQ(length_ms(1), 50);
  EXPECT_DOUBLE_EQ(length_ms(2), 50 + 2 * 50 + 1);
  EXPECT_DOUBLE_EQ(length_ms(4), 50 + 2 * 3 * 40 + 1);
  model.largest_tensor_mb = 0;
  EXPECT_DOUBLE_EQ(length_ms(4), 50 + 2 * 3 * 25 + 1) << "evenly spread";
}

TEST(Communication, CongestionDividesTheLinksOfItsTier) {
  const Links links = congested(kLinks, {1, 1, 4, 8});
  EXPECT_EQ(links.node_gbps, 16);
  EXPECT_EQ(links.rack_gbps, 2);
  EXPECT_EQ(links.spine_gbps, 0.25);
}

}  // namespace
}  // namespace fairlead
