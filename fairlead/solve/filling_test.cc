#include "fairlead/solve/filling.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace fairlead {
namespace {

std::vector<double> fill(double amount, const std::vector<double>& weights,
                         const std::vector<double>& caps) {
  ProgressiveFilling filling;
  std::vector<double> shares(weights.size(), -1.0);
  filling.fill(amount, weights, caps, shares);
  return shares;
}

TEST(ProgressiveFilling, SplitsByWeightWhenAllClaimsAreShort) {
  EXPECT_EQ(fill(8, {1, 3}, {100, 100}), (std::vector<double>{2, 6}));
  const std::vector<double> shares = fill(8, {1, 1, 1}, {8, 8, 8});
  for (double share : shares) EXPECT_DOUBLE_EQ(share, 8.0 / 3);
}

TEST(ProgressiveFilling, RaisesTheOthersByWhatASatisfiedClaimLeaves) {
  EXPECT_EQ(fill(8, {1, 1, 1}, {8, 2, 8}), (std::vector<double>{3, 2, 3}));
  EXPECT_EQ(fill(12, {1, 1, 1, 1}, {9, 4, 3, 1}), (std::vector<double>{4, 4, 3, 1}));
}

TEST(ProgressiveFilling, GivesNoClaimMoreThanItsCap) {
  EXPECT_EQ(fill(100, {5, 1, 2}, {2, 3, 0}), (std::vector<double>{2, 3, 0}));
  EXPECT_EQ(fill(0, {1, 2}, {4, 4}), (std::vector<double>{0, 0}));
  EXPECT_EQ(fill(8, {}, {}), std::vector<double>());
}

struct Case {
  double amount = 0;
  std::vector<double> weights;
  std::vector<double> caps;
};

Case any_case() {
  Case made;
  made.amount = *rc::gen::inRange(0, 4000) / 10.0;
  const auto count = *rc::gen::inRange<std::size_t>(1, 20);
  for (std::size_t i = 0; i < count; ++i) {
    made.weights.push_back(*rc::gen::inRange(1, 100) / 10.0);
    made.caps.push_back(*rc::gen::inRange(0, 500) / 10.0);
  }
  return made;
}

bool is_close(double a, double b) { return std::abs(a - b) <= 1e-9 * (1 + std::abs(a)); }

TEST(ProgressiveFilling, SharesOutAllThatCanBeUsed) {
  EXPECT_TRUE(rc::check([] {
    const Case made = any_case();
    const auto shares = fill(made.amount, made.weights, made.caps);
    double wanted = 0;
    double given = 0;
    for (std::size_t i = 0; i < shares.size(); ++i) {
      RC_ASSERT(shares[i] >= 0 && shares[i] <= made.caps[i]);
      wanted += made.caps[i];
      given += shares[i];
    }
    RC_ASSERT(is_close(given, std::min(made.amount, wanted)));
  }));
}

TEST(ProgressiveFilling, LetsNoClaimGainWithoutAPoorerOneLosing) {
  EXPECT_TRUE(rc::check([] {
    const Case made = any_case();
    const auto shares = fill(made.amount, made.weights, made.caps);
    for (std::size_t i = 0; i < shares.size(); ++i) {
      if (shares[i] >= made.caps[i]) continue;
      for (std::size_t k = 0; k < shares.size(); ++k) {
        const double level_k = shares[k] / made.weights[k];
        RC_ASSERT(level_k <= shares[i] / made.weights[i] * (1 + 1e-12));
      }
    }
  }));
}

TEST(ProgressiveFilling, DoesNotDependOnTheOrderOfClaims) {
  EXPECT_TRUE(rc::check([] {
    const Case made = any_case();
    std::vector<std::size_t> order(made.caps.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    for (std::size_t i = order.size(); i > 1; --i) {
      std::swap(order[i - 1], order[*rc::gen::inRange<std::size_t>(0, i)]);
    }
    Case mixed{made.amount, {}, {}};
    for (std::size_t i : order) {
      mixed.weights.push_back(made.weights[i]);
      mixed.caps.push_back(made.caps[i]);
    }
    const auto shares = fill(made.amount, made.weights, made.caps);
    const auto mixed_shares = fill(mixed.amount, mixed.weights, mixed.caps);
    for (std::size_t i = 0; i < order.size(); ++i) RC_ASSERT(mixed_shares[i] == shares[order[i]]);
  }));
}

TEST(ProgressiveFilling, DependsOnlyOnTheRatiosOfWeights) {
  EXPECT_TRUE(rc::check([] {
    const Case made = any_case();
    Case scaled = made;
    for (double& weight : scaled.weights) weight *= 3;
    const auto shares = fill(made.amount, made.weights, made.caps);
    const auto scaled_shares = fill(scaled.amount, scaled.weights, scaled.caps);
    for (std::size_t i = 0; i < shares.size(); ++i) {
      RC_ASSERT(is_close(shares[i], scaled_shares[i]));
    }
  }));
}

}  // namespace
}  // namespace fairlead
