#include "fairlead/iteration/transfers.h"

#include <gtest/gtest.h>

#include <vector>

namespace fairlead {
namespace {

constexpr std::int64_t kVgg = 526'400;    // kB
constexpr std::int64_t kResNet = 99'200;  // kB

using Nodes = std::vector<NodeId>;

Nodes nodes(const std::vector<std::size_t>& rows) {
  Nodes all;
  for (std::size_t row : rows) all.emplace_back(row);
  return all;
}

Transfers transfers(TransferRule rule, TransferCost cost = {}) { return {rule, cost, 4, 4}; }

TEST(Transfers, OneAloneTakesItsSizeTimesTheCost) {
  Transfers some = transfers(TransferRule::kSrsf1);
  const Nodes both = nodes({0, 1});
  some.start(0, JobId(0), kVgg, both);
  EXPECT_EQ(some.next_end_ns(), 450'598'400);  // 450.6 ms
}

TEST(Transfers, TwoTogetherPayThePenalty) {
  Transfers some = transfers(TransferRule::kSrsf2);
  const Nodes both = nodes({0, 1});
  some.start(0, JobId(0), kVgg, both);
  some.start(0, JobId(1), kVgg, both);
  EXPECT_EQ(some.next_end_ns(), 1'024'900'800);  // 1,024.9 ms
  EXPECT_EQ(some.end_next(), JobId(0));
  EXPECT_EQ(some.next_end_ns(), 1'024'900'800);
  EXPECT_EQ(some.end_next(), JobId(1));
  EXPECT_EQ(some.next_end_ns(), Transfers::kNever);
}

TEST(Transfers, TwoTogetherTakeTwiceAsLongWithoutAPenalty) {
  Transfers some = transfers(TransferRule::kSrsf2, {.penalty_ns = 0});
  const Nodes both = nodes({0, 1});
  some.start(0, JobId(0), kVgg, both);
  some.start(0, JobId(1), kVgg, both);
  EXPECT_EQ(some.next_end_ns(), 901'196'800);  // 901.2 ms
}

// 1000 kB alone take 856 us. At 428 us half is left; then two share, 1947 ns per kB. The newcomer's
// 100 kB end 194.7 us later, in which the other did 100 kB too and has 400 left: 342.4 us.
TEST(Transfers, SpeedsChangeWhenOthersComeAndGo) {
  Transfers some = transfers(TransferRule::kSrsf2);
  const Nodes left = nodes({0, 1});
  const Nodes right = nodes({1, 2});
  some.start(0, JobId(0), 1000, left);
  some.start(428'000, JobId(1), 100, right);
  EXPECT_EQ(some.next_end_ns(), 428'000 + 194'700);
  EXPECT_EQ(some.end_next(), JobId(1));
  EXPECT_EQ(some.next_end_ns(), 622'700 + 342'400);
}

// The middle one meets one on each of its nodes, but no node has three.
TEST(Transfers, TheBusiestNodeCounts) {
  Transfers some = transfers(TransferRule::kSrsf2);
  const Nodes left = nodes({0, 1});
  const Nodes middle = nodes({1, 2});
  const Nodes right = nodes({2, 3});
  some.start(0, JobId(0), 1000, left);
  some.start(0, JobId(1), 1000, middle);
  some.start(0, JobId(2), 500, right);
  EXPECT_EQ(some.next_end_ns(), 500 * 1947);
  EXPECT_EQ(some.end_next(), JobId(2));
  EXPECT_EQ(some.next_end_ns(), 1000 * 1947);
  EXPECT_EQ(some.busy_ns(), 2 * 500 * 1947);    // time of the two nodes whose count changed
  EXPECT_EQ(some.shared_ns(), 1 * 500 * 1947);  // time of the node with two of them
}

TEST(Transfers, ThoseThatAvoidContentionWaitForAllOfTheirNodes) {
  Transfers some = transfers(TransferRule::kSrsf1);
  const Nodes left = nodes({0, 1});
  some.start(0, JobId(0), kVgg, left);
  EXPECT_FALSE(some.may_start(0, kResNet, nodes({1, 2})));
  EXPECT_TRUE(some.may_start(0, kResNet, nodes({2, 3})));
}

TEST(Transfers, ThoseThatAcceptContentionStartBesideOne) {
  Transfers some = transfers(TransferRule::kSrsf2);
  const Nodes left = nodes({0, 1});
  const Nodes right = nodes({1, 2});
  some.start(0, JobId(0), kResNet, left);
  EXPECT_TRUE(some.may_start(0, kVgg, right));
  some.start(0, JobId(1), kVgg, right);
  EXPECT_FALSE(some.may_start(0, kResNet, nodes({1, 3})));
}

// 2 (0.856 + 0.235) / 0.856 x 99.2 MB = 252.87 MB.
TEST(Transfers, AdaDualStartsASmallOneWhileEnoughOfTheOtherIsLeft) {
  Transfers some = transfers(TransferRule::kAdaSrsf);
  const Nodes both = nodes({0, 1});
  some.start(0, JobId(0), kVgg, both);
  const std::int64_t last_ns = (kVgg - 252'868) * 856;
  EXPECT_TRUE(some.may_start(0, kResNet, both));
  EXPECT_TRUE(some.may_start(last_ns, kResNet, both));
  EXPECT_FALSE(some.may_start(last_ns + 856, kResNet, both));
}

TEST(Transfers, AdaDualNeverStartsTheLargerOneBesideTheSmaller) {
  Transfers some = transfers(TransferRule::kAdaSrsf);
  const Nodes both = nodes({0, 1});
  some.start(0, JobId(0), kResNet, both);
  EXPECT_FALSE(some.may_start(0, kVgg, both));
  EXPECT_FALSE(some.may_start(0, kResNet, both));
}

TEST(Transfers, AdaDualNeverStartsAThird) {
  Transfers some = transfers(TransferRule::kAdaSrsf);
  const Nodes both = nodes({0, 1});
  some.start(0, JobId(0), kVgg, both);
  some.start(0, JobId(1), kResNet, both);
  EXPECT_FALSE(some.may_start(0, 1, nodes({1, 2})));
}

TEST(Transfers, AdaDualAsksTheOtherOneOfEachNode) {
  Transfers some = transfers(TransferRule::kAdaSrsf);
  const Nodes large = nodes({0});
  const Nodes small = nodes({1});
  some.start(0, JobId(0), kVgg, large);
  some.start(0, JobId(1), kResNet, small);
  EXPECT_TRUE(some.may_start(0, kResNet, nodes({0, 2})));
  EXPECT_FALSE(some.may_start(0, kResNet, nodes({0, 1})));
  EXPECT_TRUE(some.may_start(0, kResNet / 3, nodes({0, 1})));
}

// 500 of 3000 kB are done at 428 us; then two ask, and it goes three times as fast.
TEST(Transfers, InTheReleasedCodeThoseThatAskSpeedUpTheOther) {
  Transfers some = transfers(TransferRule::kAdaSrsfReleased);
  const Nodes left = nodes({0, 1});
  const Nodes right = nodes({1, 2});
  some.start(0, JobId(0), 3000, left);
  EXPECT_FALSE(some.may_start(428'000, 3000, right));
  const std::vector<std::span<const NodeId>> waiting = {right, right};
  some.set_waiting(428'000, waiting);
  EXPECT_EQ(some.next_end_ns(), 428'000 + 2500 * 856 / 3 + 1);
  some.set_waiting(428'000 + 856 * 500, {});
  EXPECT_EQ(some.next_end_ns(), 428'000 + 856 * 500 + 1000 * 856);
}

TEST(Transfers, InTheReleasedCodeOnlyTheFirstOfTheBusiestNodesIsAsked) {
  Transfers some = transfers(TransferRule::kAdaSrsfReleased);
  const Nodes large = nodes({0});
  const Nodes small = nodes({1});
  some.start(0, JobId(0), kVgg, large);
  some.start(0, JobId(1), kResNet, small);
  EXPECT_TRUE(some.may_start(0, kResNet, nodes({0, 1})));
  EXPECT_FALSE(some.may_start(0, kResNet, nodes({1, 2})));
}

// Both together and one after the other have the same sum of completion times exactly there.
TEST(Transfers, TheThresholdIsWhereStartingPays) {
  const TransferCost cost = {.alone_ns = 4, .penalty_ns = 1};  // 2 (4 + 1) / 4 = 2.5
  for (const std::int64_t other : {24, 25, 26}) {
    Transfers some = transfers(TransferRule::kAdaSrsf, cost);
    const Nodes both = nodes({0, 1});
    some.start(0, JobId(0), other, both);
    const std::int64_t one_by_one = 2 * 4 * other + 4 * 10;
    EXPECT_EQ(some.may_start(0, 10, both), other >= 25);
    some.start(0, JobId(1), 10, both);
    std::int64_t together = some.next_end_ns();
    EXPECT_EQ(some.end_next(), JobId(1));
    together += some.next_end_ns();
    EXPECT_EQ(together - one_by_one, 4 * (25 - other));
  }
}

}  // namespace
}  // namespace fairlead
