#include "fairlead/base/rng.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace fairlead {
namespace {

constexpr int kDraws = 100'000;

std::vector<std::uint64_t> draws(Rng rng) {
  std::vector<std::uint64_t> numbers(8);
  std::ranges::generate(numbers, [&] { return rng.next(); });
  return numbers;
}

// Published results name their seed, so the sequence is part of the contract.
TEST(Rng, HasAFixedSequence) {
  Rng rng(1);
  EXPECT_EQ(rng.next(), 0xb3f2af6d0fc710c5U);
  EXPECT_EQ(rng.next(), 0x853b559647364ceaU);
}

TEST(Rng, RepeatsWithTheSameSeedOnly) {
  EXPECT_EQ(draws(Rng(7)), draws(Rng(7)));
  EXPECT_NE(draws(Rng(7)), draws(Rng(8)));
}

TEST(Rng, SplitsIntoStreamsThatDoNotDisturbEachOther) {
  Rng rng(7);
  const Rng stream = rng.split(1);
  EXPECT_EQ(draws(stream), draws(rng.split(1)));
  EXPECT_NE(draws(stream), draws(rng.split(2)));
  EXPECT_NE(draws(stream), draws(rng));
  EXPECT_NE(draws(stream), draws(Rng(8).split(1)));
}

TEST(Rng, DrawsEachNumberBelowABoundEquallyOften) {
  Rng rng(3);
  std::vector<int> count(6, 0);
  for (int i = 0; i < kDraws; ++i) ++count.at(rng.below(6));
  for (int n : count) EXPECT_NEAR(n, kDraws / 6.0, 5 * std::sqrt(kDraws / 6.0));
  EXPECT_EQ(rng.below(1), 0U);
}

TEST(Rng, HasTheMomentsOfItsDistributions) {
  Rng rng(5);
  double uniform = 0, exponential = 0, normal = 0, normal_squared = 0;
  for (int i = 0; i < kDraws; ++i) {
    const double u = rng.uniform();
    ASSERT_TRUE(u >= 0 && u < 1);
    uniform += u;
    const double e = rng.exponential(20);
    ASSERT_GE(e, 0);
    exponential += e;
    const double n = rng.normal();
    normal += n;
    normal_squared += n * n;
  }
  EXPECT_NEAR(uniform / kDraws, 0.5, 0.005);
  EXPECT_NEAR(exponential / kDraws, 20, 0.4);
  EXPECT_NEAR(normal / kDraws, 0, 0.02);
  EXPECT_NEAR(normal_squared / kDraws, 1, 0.03);
}

TEST(Rng, DrawsByWeightAndNeverAZero) {
  Rng rng(9);
  const std::vector<double> weights = {0, 1, 0, 3, 0};
  std::vector<int> count(weights.size(), 0);
  for (int i = 0; i < kDraws; ++i) ++count.at(rng.weighted(weights));
  EXPECT_EQ(count[0] + count[2] + count[4], 0);
  EXPECT_NEAR(count[3], 0.75 * kDraws, 1000);
}

TEST(RngDeathTest, ChecksItsPreconditions) {
  Rng rng(1);
  EXPECT_DEATH(rng.below(0), "bound");
  EXPECT_DEATH(rng.weighted(std::vector<double>{0, 0}), "total");
}

}  // namespace
}  // namespace fairlead
