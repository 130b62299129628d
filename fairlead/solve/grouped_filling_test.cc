#include "fairlead/solve/grouped_filling.h"

#include "fairlead/solve/fair_share.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>

namespace fairlead {
namespace {

constexpr std::uint32_t kNone = GroupedClaims::kNoGroup;

struct Case {
  double amount = 0;
  std::vector<double> weights;
  std::vector<double> caps;
  std::vector<std::uint32_t> groups;
  std::vector<double> group_weights{};
  std::vector<double> group_caps{};

  GroupedClaims claims() const {
    return {amount, weights, caps, groups, group_weights, group_caps};
  }
};

std::vector<double> fill(const Case& given) {
  GroupedFilling filling;
  std::vector<double> shares(given.weights.size(), -1.0);
  filling.fill(given.claims(), shares);
  return shares;
}

TEST(GroupedFilling, CountsAClaimWithoutAGroupAsAGroupOfItsOwn) {
  // Group 0 (weight 2) of two claims and a lone claim (weight 1): 6 and 3; inside by own weights.
  EXPECT_EQ(fill({9, {5, 1, 1}, {8, 8, 8}, {0, kNone, 0}, {2}}), (std::vector<double>{5, 3, 1}));
}

TEST(GroupedFilling, GivesWhatAClaimLeavesToItsGroupFirst) {
  // The group has 6 of 8, of which its second claim can use only 1.
  EXPECT_EQ(fill({8, {1, 1, 1}, {8, 1, 8}, {0, 0, kNone}, {3}}), (std::vector<double>{5, 1, 2}));
  // The lone claim needs 1 only: the group has all the rest.
  EXPECT_EQ(fill({9, {1, 1, 1}, {16, 1, 1}, {0, kNone, 0}, {2}}), (std::vector<double>{7, 1, 1}));
}

TEST(GroupedFilling, GivesAGroupAsMuchHoweverManyClaimsItHas) {
  EXPECT_EQ(fill({8, {1, 1}, {8, 8}, {0, kNone}, {1}}), (std::vector<double>{4, 4}));
  EXPECT_EQ(fill({8, {1, 1, 1, 1, 1}, {8, 8, 8, 8, 8}, {0, 0, 0, 0, kNone}, {1}}),
            (std::vector<double>{1, 1, 1, 1, 4}));
}

TEST(GroupedFilling, GivesAGroupNoMoreThanItsCap) {
  const Case capped{12, {1, 1, 1}, {12, 12, 12}, {0, 0, kNone}, {3}, {4}};
  EXPECT_EQ(fill(capped), (std::vector<double>{2, 2, 8}));
  // Not even if no other claim needs the rest.
  const Case alone{12, {1, 1}, {12, 12}, {0, 0}, {1}, {4}};
  EXPECT_EQ(fill(alone), (std::vector<double>{2, 2}));
}

TEST(GroupedFilling, LeavesTheShareOfAnEmptyGroupToTheOthers) {
  EXPECT_EQ(fill({6, {1, 1}, {8, 8}, {1, kNone}, {7, 1}}), (std::vector<double>{3, 3}));
}

Case any_case() {
  Case made{.amount = static_cast<double>(*rc::gen::inRange(0, 100))};
  const auto groups = *rc::gen::inRange<std::uint32_t>(0, 4);
  const bool has_caps = *rc::gen::arbitrary<bool>();
  for (std::uint32_t i = 0; i < groups; ++i) {
    made.group_weights.push_back(*rc::gen::inRange(1, 5));
    if (has_caps) made.group_caps.push_back(*rc::gen::inRange(0, 40));
  }
  const auto claims = *rc::gen::inRange<std::size_t>(0, 9);
  for (std::size_t i = 0; i < claims; ++i) {
    made.weights.push_back(*rc::gen::inRange(1, 5));
    made.caps.push_back(*rc::gen::inRange(0, 40));
    const auto group = *rc::gen::inRange<std::uint32_t>(0, groups + 1);
    made.groups.push_back(group == groups ? kNone : group);
  }
  return made;
}

bool is_close(double a, double b) { return std::abs(a - b) <= 1e-9 * (1 + std::abs(a)); }

TEST(GroupedFilling, AgreesWithThePlainVersion) {
  GroupedFilling filling;  // one workspace for all cases, so that a trace of one would show in the
                           // next
  EXPECT_TRUE(rc::check([&] {
    const Case given = any_case();
    std::vector<double> shares(given.weights.size(), -1.0);
    filling.fill(given.claims(), shares);
    const std::vector<double> expected = grouped_fair_share(given.claims());
    for (std::size_t i = 0; i < shares.size(); ++i) RC_ASSERT(is_close(shares[i], expected[i]));
  }));
}

TEST(GroupedFilling, OfGroupsOfOneIsFairShare) {
  EXPECT_TRUE(rc::check([] {
    Case given = any_case();
    given.groups.assign(given.weights.size(), kNone);
    std::vector<Claim> claims;
    for (std::size_t i = 0; i < given.weights.size(); ++i) {
      claims.push_back(
          {static_cast<std::int64_t>(given.weights[i]), static_cast<std::int64_t>(given.caps[i])});
    }
    const auto expected = fair_share(claims, static_cast<std::int64_t>(given.amount));
    const auto shares = fill(given);
    for (std::size_t i = 0; i < shares.size(); ++i) RC_ASSERT(is_close(shares[i], expected[i]));
  }));
}

}  // namespace
}  // namespace fairlead
