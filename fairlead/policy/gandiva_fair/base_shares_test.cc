#include "fairlead/policy/gandiva_fair/testing.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <vector>

namespace fairlead {
namespace {

// Users whose demand a test states.
struct Claims : Tenants {
  Claims(std::string_view shorthand, const std::vector<std::int64_t>& tickets)
      : Tenants(shorthand, tickets) {
    demand.resize(users.size());
    base.begin(cluster);
    base.resize(users.size(), cluster.type_names.size());
  }

  void fill() {
    groups.set(users, 1, {});
    base.fill(demand, users.tickets, groups);
  }

  Demand demand;
  UserGroups groups;
  BaseShares base;
};

TEST(BaseShares, FillTheFastestTypeFirst) {
  Claims claims("1xV100:4,2xK80:4", {1, 1});
  claims.demand.add(kAnn, 2);
  claims.demand.add(kBen, 20);
  claims.fill();
  EXPECT_DOUBLE_EQ(claims.base.of(kAnn, kFast), 2);
  EXPECT_DOUBLE_EQ(claims.base.of(kBen, kFast), 2);
  EXPECT_DOUBLE_EQ(claims.base.of(kAnn, kSlow), 0);
  EXPECT_DOUBLE_EQ(claims.base.of(kBen, kSlow), 8);
  EXPECT_DOUBLE_EQ(claims.base.of(kBen), 10);
  // The other way round.
  EXPECT_TRUE(claims.base.set_type_order(std::vector<GpuTypeId>{kSlow, kFast}));
  EXPECT_FALSE(claims.base.set_type_order(std::vector<GpuTypeId>{kSlow, kFast}));
  claims.fill();
  EXPECT_DOUBLE_EQ(claims.base.of(kAnn, kSlow), 2);
  EXPECT_DOUBLE_EQ(claims.base.of(kBen, kSlow), 6);
  EXPECT_DOUBLE_EQ(claims.base.of(kAnn, kFast), 0);
  EXPECT_DOUBLE_EQ(claims.base.of(kBen, kFast), 4);
}

TEST(BaseShares, AreOfTheGpusThatAreUp) {
  Claims claims("2xV100:4", {1, 3});
  for (UserId user : {kAnn, kBen}) claims.demand.add(user, 8);
  EXPECT_TRUE(claims.base.set_capacity(kFast, 4));
  EXPECT_FALSE(claims.base.set_capacity(kFast, 4));
  claims.fill();
  EXPECT_DOUBLE_EQ(claims.base.of(kAnn), 1);
  EXPECT_DOUBLE_EQ(claims.base.of(kBen), 3);
}

TEST(BaseShares, OfAGroupStayWithinItsQuotaOverAllTypes) {
  Claims claims("1xV100:4,2xK80:4", {1, 1, 1});
  claims.group({kAnn, kBen}, 5, 4);
  for (UserId user : {kAnn, kBen, kEve}) claims.demand.add(user, 12);
  claims.fill();
  // The group has 10 / 3 of the fast GPUs, and the rest of its quota of the slow ones.
  EXPECT_DOUBLE_EQ(claims.base.of(kAnn, kFast), 5.0 / 3);
  EXPECT_DOUBLE_EQ(claims.base.of(kAnn), 2);
  EXPECT_DOUBLE_EQ(claims.base.of(kBen), 2);
  EXPECT_DOUBLE_EQ(claims.base.of(kEve), 8);
}

RC_GTEST_PROP(BaseShares, DoNotDependOnHowManyNamesAUserOfAGroupHas, ()) {
  const auto names = *rc::gen::inRange<std::size_t>(1, 6);
  const auto jobs = *rc::gen::inRange<int>(1, 12);
  const auto tickets = *rc::gen::inRange<std::int64_t>(1, 5);
  const auto quota = *rc::gen::inRange<std::int64_t>(0, 8);
  const auto share_with = [&](std::size_t count) {
    Claims claims("3xV100:4", std::vector<std::int64_t>(count + 1, 1));
    std::vector<UserId> members;
    for (std::size_t i = 1; i <= count; ++i) members.push_back(UserId(i));
    claims.group(members, tickets, quota);
    claims.demand.add(kAnn, 12);
    for (int job = 0; job < jobs; ++job) {
      claims.demand.add(members[static_cast<std::size_t>(job) % count], 1);
    }
    claims.fill();
    double all = 0;
    for (UserId member : members) all += claims.base.of(member);
    return all;
  };
  RC_ASSERT(std::abs(share_with(names) - share_with(1)) < 1e-9);
}

// --- The terms of trades on top -----------------------------------------------------------------

// Speedups 1.2, 2 and 6 of users with 4 fast and 12 slow GPUs each.
const std::vector<double> kSpeeds = {1.2, 1, 2, 1, 6, 1};

double fast_ratio(Claims& claims, UserId user) {
  claims.fill();
  TradeTerms terms(TradePrice::kSlides);
  terms.resize(3, 2);
  terms.trade(claims.base, claims.demand, claims.groups, kSpeeds);
  return terms.ratio(user, kFast);
}

TEST(TradeTerms, AreRatiosOfTheShareToTheBase) {
  Claims claims("3xV100:4,9xK80:4", {1, 1, 1});
  for (UserId user : {kAnn, kBen, kEve}) claims.demand.add(user, 48);
  EXPECT_DOUBLE_EQ(fast_ratio(claims, kAnn), 0) << "the lowest speedup sells";
  EXPECT_DOUBLE_EQ(fast_ratio(claims, kBen), 1);
  EXPECT_DOUBLE_EQ(fast_ratio(claims, kEve), 2);
}

TEST(TradeTerms, LeaveOutWhoHasAllItCanUse) {
  Claims claims("3xV100:4,9xK80:4", {1, 1, 1});
  claims.demand.add(kAnn, 4);
  for (UserId user : {kBen, kEve}) claims.demand.add(user, 48);
  for (UserId user : {kAnn, kBen, kEve}) EXPECT_EQ(fast_ratio(claims, user), 1);
}

TEST(TradeTerms, LeaveOutWhoHasAQuota) {
  Claims claims("3xV100:4,9xK80:4", {1, 1, 1});
  claims.group({kAnn}, 1, 16);
  for (UserId user : {kAnn, kBen, kEve}) claims.demand.add(user, 48);
  EXPECT_EQ(fast_ratio(claims, kAnn), 1);
}

}  // namespace
}  // namespace fairlead
