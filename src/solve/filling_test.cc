#include "fairlead/solve/filling.h"

#include "fairlead/solve/fair_share.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace fairlead {
namespace {

using Gangs = std::vector<std::vector<double>>;

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

TEST(NestedFairShare, CapsAUserByWhatItsJobsCanUse) {
  // 8 GPUs, three users: 8/3 each; a user with a single job of 2 GPUs gets 2, the others 3.
  const std::vector<NestedUser> all_short = {{1, {8}}, {1, {4, 4}}, {1, {8}}};
  const Gangs thirds = nested_fair_share(8, all_short);
  EXPECT_DOUBLE_EQ(thirds[0][0], 8.0 / 3);
  EXPECT_DOUBLE_EQ(thirds[1][0], 4.0 / 3);
  const std::vector<NestedUser> one_small = {{1, {2}}, {1, {8}}, {1, {2, 8}}};
  EXPECT_EQ(nested_fair_share(8, one_small), (Gangs{{2}, {3}, {1.5, 1.5}}));
}

TEST(NestedFairShare, GivesAUsersSurplusToItsOtherJobsFirst) {
  const std::vector<NestedUser> alone = {{1, {1, 2, 8}}};
  EXPECT_EQ(nested_fair_share(6, alone), (Gangs{{1, 2, 3}}));
  const std::vector<NestedUser> two = {{1, {1, 2, 8}}, {1, {1}}, {2, {}}};
  EXPECT_EQ(nested_fair_share(7, two), (Gangs{{1, 2, 3}, {1}, {}}));
}

TEST(NestedFairShare, CountsAUserWithoutAGroupAsAGroupOfItsOwn) {
  // Group 0 (2 tickets) of two users and a lone user (1 ticket): 6 and 3; inside by own tickets.
  const std::vector<double> group_tickets = {2};
  const std::vector<NestedUser> users = {{5, {8}, 0}, {1, {8}}, {1, {8}, 0}};
  EXPECT_EQ(nested_fair_share(9, users, group_tickets), (Gangs{{5}, {3}, {1}}));
  // The lone user needs 1: the group gets 8, of which its small user can use only 1.
  const std::vector<NestedUser> small = {{1, {8, 8}, 0}, {1, {1}}, {1, {1}, 0}};
  EXPECT_EQ(nested_fair_share(9, small, group_tickets), (Gangs{{3.5, 3.5}, {1}, {1}}));
}

TEST(NestedFairShare, LeavesTheShareOfAnEmptyGroupToTheOthers) {
  const std::vector<double> group_tickets = {7, 1};
  const std::vector<NestedUser> users = {{1, {8}, 1}, {1, {8}}};
  EXPECT_EQ(nested_fair_share(6, users, group_tickets), (Gangs{{3}, {3}}));
}

std::vector<NestedUser> any_users(std::uint32_t groups) {
  std::vector<NestedUser> users(*rc::gen::inRange<std::size_t>(1, 8));
  for (NestedUser& user : users) {
    user.tickets = *rc::gen::inRange(1, 5);
    const auto jobs = *rc::gen::inRange<std::size_t>(0, 5);
    for (std::size_t i = 0; i < jobs; ++i) user.gangs.push_back(1 << *rc::gen::inRange(0, 5));
    const std::uint32_t group = *rc::gen::inRange<std::uint32_t>(0, groups + 1);
    user.group = group == groups ? NestedClaims::kNoGroup : group;
  }
  return users;
}

// The columns of `users`, filled by `filling`; also checks each user's share.
Gangs fill_columns(NestedFilling& filling, double gpus, const std::vector<NestedUser>& users,
                   const std::vector<double>& group_tickets) {
  std::vector<double> tickets;
  std::vector<std::uint32_t> jobs_end;
  std::vector<double> gangs;
  std::vector<std::uint32_t> groups;
  for (const NestedUser& user : users) {
    tickets.push_back(user.tickets);
    gangs.insert(gangs.end(), user.gangs.begin(), user.gangs.end());
    jobs_end.push_back(static_cast<std::uint32_t>(gangs.size()));
    groups.push_back(user.group);
  }
  if (group_tickets.empty()) groups.clear();
  std::vector<double> user_shares(users.size(), -1.0);
  std::vector<double> job_shares(gangs.size(), -1.0);
  filling.fill({gpus, tickets, jobs_end, gangs, groups, group_tickets}, user_shares, job_shares);
  Gangs shares;
  for (std::size_t user = 0, job = 0; user < users.size(); ++user) {
    shares.emplace_back();
    while (job < jobs_end[user]) shares.back().push_back(job_shares[job++]);
    const double sum = std::accumulate(shares.back().begin(), shares.back().end(), 0.0);
    RC_ASSERT(is_close(sum, user_shares[user]));
  }
  return shares;
}

TEST(NestedFilling, AgreesWithThePlainVersion) {
  NestedFilling filling;  // one workspace for all cases, so that nothing of one stays for the next
  EXPECT_TRUE(rc::check([&] {
    const auto group_count = *rc::gen::inRange<std::uint32_t>(0, 4);
    std::vector<double> group_tickets;
    for (std::uint32_t i = 0; i < group_count; ++i) {
      group_tickets.push_back(*rc::gen::inRange(1, 5));
    }
    const auto users = any_users(group_count);
    const double gpus = *rc::gen::inRange(0, 100);
    const Gangs actual = fill_columns(filling, gpus, users, group_tickets);
    const Gangs expected = nested_fair_share(gpus, users, group_tickets);
    for (std::size_t user = 0; user < users.size(); ++user) {
      RC_ASSERT(actual[user].size() == expected[user].size());
      for (std::size_t i = 0; i < actual[user].size(); ++i) {
        RC_ASSERT(is_close(actual[user][i], expected[user][i]));
      }
    }
  }));
}

TEST(NestedFilling, AgreesWithFairShareAtTheLevelOfUsers) {
  NestedFilling filling;
  EXPECT_TRUE(rc::check([&] {
    const auto users = any_users(0);
    const int gpus = *rc::gen::inRange(0, 100);
    std::vector<Claim> claims;
    for (const NestedUser& user : users) {
      const double demand = std::accumulate(user.gangs.begin(), user.gangs.end(), 0.0);
      claims.push_back(
          {static_cast<std::int64_t>(user.tickets), static_cast<std::int64_t>(demand)});
    }
    const auto expected = fair_share(claims, gpus);
    const Gangs shares = fill_columns(filling, gpus, users, {});
    for (std::size_t user = 0; user < users.size(); ++user) {
      const double sum = std::accumulate(shares[user].begin(), shares[user].end(), 0.0);
      RC_ASSERT(is_close(sum, expected[user]));
    }
  }));
}

}  // namespace
}  // namespace fairlead
