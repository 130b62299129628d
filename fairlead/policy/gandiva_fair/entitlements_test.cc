#include "fairlead/policy/gandiva_fair/testing.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

namespace fairlead {
namespace {

// --- Shares -----------------------------------------------------------------------------------

TEST(Entitlements, DivideEightGpusAmongThreeUsersByTickets) {
  Market market("2xV100:4", {1, 1, 1});
  for (UserId user : {kAnn, kBen, kEve}) market.add(user, kFast, 1, 8);
  market.entitlements.update();
  for (UserId user : {kAnn, kBen, kEve}) {
    EXPECT_DOUBLE_EQ(market.entitlements.base().of(user), 8.0 / 3);
    EXPECT_DOUBLE_EQ(market.share(user), 8.0 / 3);
    EXPECT_DOUBLE_EQ(market.entitlements.of_job(user, kFast, 1), 1.0 / 3);
  }
  Market uneven("2xV100:4", {1, 2, 5});
  for (UserId user : {kAnn, kBen, kEve}) uneven.add(user, kFast, 1, 8);
  uneven.entitlements.update();
  EXPECT_DOUBLE_EQ(uneven.share(kEve), 5);
}

TEST(Entitlements, GiveNoUserMoreThanItsJobsAskFor) {
  Market market("2xV100:4", {1, 1, 1});
  market.add(kAnn, kFast, 2);
  market.add(kBen, kFast, 1, 8);
  market.add(kEve, kFast, 4, 2);
  market.entitlements.update();
  EXPECT_DOUBLE_EQ(market.share(kAnn), 2);
  EXPECT_DOUBLE_EQ(market.share(kBen), 3);
  EXPECT_DOUBLE_EQ(market.share(kEve), 3);
  EXPECT_DOUBLE_EQ(market.entitlements.of_job(kAnn, kFast, 2), 2);
  EXPECT_DOUBLE_EQ(market.entitlements.of_job(kEve, kFast, 4), 1.5);
}

TEST(Entitlements, CountTheTicketsOfAllAlikeWithoutFilling) {
  Market market("2xV100:4", {1, 1}, entitlement_options("gandiva-fair:tickets=equal"));
  market.add(kAnn, kFast, 2);
  market.add(kBen, kFast, 1, 8);
  market.entitlements.update();
  EXPECT_DOUBLE_EQ(market.share(kAnn), 4);
  EXPECT_DOUBLE_EQ(market.share(kBen), 4);
  EXPECT_DOUBLE_EQ(market.entitlements.of_job(kAnn, kFast, 2), 4);
  EXPECT_DOUBLE_EQ(market.entitlements.of_job(kBen, kFast, 1), 0.5);
}

TEST(Entitlements, OfAUserAreDividedAmongItsJobsUpToTheirGangs) {
  Market market("1xV100:6", {1});
  for (std::uint32_t gpus : {8U, 1U, 2U}) market.add(kAnn, kFast, gpus);
  market.entitlements.update();
  EXPECT_DOUBLE_EQ(market.entitlements.of_job(kAnn, kFast, 1), 1);
  EXPECT_DOUBLE_EQ(market.entitlements.of_job(kAnn, kFast, 2), 2);
  EXPECT_DOUBLE_EQ(market.entitlements.of_job(kAnn, kFast, 8), 3);
  // The smallest user leaves, and the largest one keeps its GPUs.
  market.entitlements.drop(kAnn, kFast, 1);
  market.entitlements.add_demand(kAnn, -1);
  market.entitlements.update();
  EXPECT_DOUBLE_EQ(market.entitlements.of_job(kAnn, kFast, 8), 4);
}

// --- Groups -----------------------------------------------------------------------------------

TEST(Entitlements, OfAGroupAreThoseOfAUserWithItsTickets) {
  Market market("3xV100:4", {1, 2, 1});
  market.group({kAnn, kBen}, 1);
  market.entitlements.begin(market.users, market.cluster);
  for (UserId user : {kAnn, kBen, kEve}) market.add(user, kFast, 1, 12);
  market.entitlements.update();
  EXPECT_DOUBLE_EQ(market.share(kAnn), 2);
  EXPECT_DOUBLE_EQ(market.share(kBen), 4);
  EXPECT_DOUBLE_EQ(market.share(kEve), 6);
}

TEST(Entitlements, GoToTheUsersOfTheGroupFirst) {
  Market market("3xV100:4", {1, 1, 1});
  market.group({kAnn, kBen}, 2);
  market.entitlements.begin(market.users, market.cluster);
  market.add(kAnn, kFast, 1, 1);
  market.add(kBen, kFast, 1, 12);
  market.add(kEve, kFast, 1, 12);
  market.entitlements.update();
  EXPECT_DOUBLE_EQ(market.share(kAnn), 1);
  EXPECT_DOUBLE_EQ(market.share(kBen), 7);
  EXPECT_DOUBLE_EQ(market.share(kEve), 4);
}

TEST(Entitlements, LeaveToOthersWhatAUserKeepsNoJobsFor) {
  Market market("2xV100:4", {1, 1});
  market.add(kAnn, kFast, 1);
  market.entitlements.add_demand(kAnn, 7);  // waits outside
  market.add(kBen, kFast, 1, 8);
  market.entitlements.update();
  EXPECT_DOUBLE_EQ(market.entitlements.base().of(kAnn), 4);
  EXPECT_DOUBLE_EQ(market.share(kAnn), 1);
  EXPECT_DOUBLE_EQ(market.share(kBen), 7);
}

TEST(Entitlements, GiveAUserThatIsBehindMoreThanItIsDue) {
  Market market("2xV100:4", {1, 1});
  for (UserId user : {kAnn, kBen}) market.add(user, kFast, 1, 8);
  market.entitlements.correct(kAnn, 1.5);
  market.entitlements.correct(kBen, 0.5);
  market.entitlements.update();
  EXPECT_DOUBLE_EQ(market.share(kAnn), 6);
  EXPECT_DOUBLE_EQ(market.share(kBen), 2);
  EXPECT_DOUBLE_EQ(market.entitlements.due(kAnn), 4) << "what is due stays";
  market.entitlements.correct(kAnn, 0.5);
  market.entitlements.update();
  EXPECT_DOUBLE_EQ(market.share(kAnn), 4) << "only the ratio counts";
}

TEST(Entitlements, SayWhoHasAllThatItAsksFor) {
  Market market("1xV100:4", {1, 1});
  market.add(kAnn, kFast, 1);
  market.add(kBen, kFast, 4);
  market.entitlements.update();
  EXPECT_TRUE(market.entitlements.has_all(kAnn));
  EXPECT_FALSE(market.entitlements.has_all(kBen)) << "3 of 4";
}

TEST(Entitlements, TakeTheGroupsFromTheUsersOnceTheyAreLoaded) {
  Market market("2xV100:4", {1, 1});
  market.group({kAnn, kBen}, 1, 5);
  market.entitlements.begin(market.users, market.cluster);
  market.add(kAnn, kFast, 2);
  Writer writer;
  save(market.entitlements, writer);
  Entitlements loaded(entitlement_options());
  Reader reader(writer.bytes());
  load(loaded, reader);
  loaded.begin(market.users, market.cluster);
  EXPECT_EQ(loaded.groups().left(kBen), 3);
}

// --- Trading ----------------------------------------------------------------------------------

TEST(EntitlementTrading, IsThatOfTheSlides) {
  // Speedups 1.2, 2 and 6; each has 4 fast and 12 slow GPUs. The highest buys from the lowest at 2.
  Market market("3xV100:4,9xK80:4", {1, 1, 1});
  for (UserId user : {kAnn, kBen, kEve}) {
    market.add(user, kFast, 1, 12);
    market.add(user, kSlow, 1, 36);
  }
  market.entitlements.update();
  const std::vector<double> speeds = {1.2, 1, 2, 1, 6, 1};
  const auto trades = market.entitlements.trade(speeds);
  ASSERT_EQ(trades.size(), 1U);
  EXPECT_EQ(market.entitlements.demand().active()[trades[0].seller], kAnn);
  EXPECT_EQ(market.entitlements.demand().active()[trades[0].buyer], kEve);
  EXPECT_DOUBLE_EQ(trades[0].fast_gpus, 4);
  EXPECT_DOUBLE_EQ(trades[0].price, 2);
  EXPECT_DOUBLE_EQ(market.entitlements.traded(kAnn, kFast), 0);
  EXPECT_DOUBLE_EQ(market.entitlements.traded(kAnn, kSlow), 20);
  EXPECT_DOUBLE_EQ(market.entitlements.traded(kBen, kFast), 4);
  EXPECT_DOUBLE_EQ(market.entitlements.traded(kEve, kFast), 8);
  EXPECT_DOUBLE_EQ(market.entitlements.traded(kEve, kSlow), 4);
  // Shares follow: the seller's jobs on the fast type get next to nothing.
  EXPECT_NEAR(market.share(kAnn, kFast), 0, 1e-4);
  EXPECT_NEAR(market.share(kEve, kFast), 8, 1e-4);
  EXPECT_DOUBLE_EQ(market.entitlements.base().of(kAnn, kFast), 4);  // as it was
}

TEST(EntitlementTrading, KeepsItsTermsWhenUsersComeAndGo) {
  Market market("3xV100:4,9xK80:4", {1, 1, 1, 1});
  for (UserId user : {kAnn, kBen, kEve}) market.add(user, kFast, 1, 48);
  market.entitlements.update();
  market.entitlements.trade(std::vector<double>{1.2, 1, 2, 1, 6, 1, 0, 0});
  const UserId newcomer(3);
  market.add(newcomer, kFast, 1, 48);
  market.entitlements.update();
  // 3 fast and 9 slow GPUs each, times 0, 1, 2, 1 and 5/3, 1, 1/3, 1.
  EXPECT_DOUBLE_EQ(market.entitlements.base().of(newcomer, kFast), 3);
  EXPECT_DOUBLE_EQ(market.entitlements.traded(kAnn, kFast), 0);
  EXPECT_DOUBLE_EQ(market.entitlements.traded(kEve, kFast), 6);
  EXPECT_DOUBLE_EQ(market.entitlements.traded(kAnn, kSlow), 15);
  EXPECT_DOUBLE_EQ(market.entitlements.traded(newcomer, kSlow), 9);
}

// --- Worth ------------------------------------------------------------------------------------

TEST(EntitlementWorth, IsTheSpeedRelativeToTheMeanOverWhatIsDue) {
  Market market("1xV100:4,3xK80:4", {1, 1});
  for (UserId user : {kAnn, kBen}) {
    market.add(user, kFast, 1, 8);
    market.add(user, kSlow, 1, 24);
  }
  market.entitlements.set_speeds(std::vector<double>{5, 1, 0, 0});
  market.entitlements.update();
  // Two fast GPUs at 5 and six slow ones at 1: 2 per GPU.
  EXPECT_DOUBLE_EQ(market.entitlements.worth(kAnn, kFast), 2.5);
  EXPECT_DOUBLE_EQ(market.entitlements.worth(kAnn, kSlow), 0.5);
  EXPECT_DOUBLE_EQ(market.entitlements.worth(kBen, kFast), 1) << "its speeds are not known";
}

// --- In general -------------------------------------------------------------------------------

void add_drawn_jobs(Market& market) {
  for (UserId user : ids<UserId>(market.users.size())) {
    const auto jobs = *rc::gen::inRange(0, 12);
    for (int job = 0; job < jobs; ++job) {
      const auto type = GpuTypeId(*rc::gen::inRange<std::size_t>(0, 3));
      market.add(user, type, std::uint32_t{1} << *rc::gen::inRange(0, 4));
    }
  }
  market.entitlements.update();
}

double sum_of_users(const Market& market, const auto& amount) {
  double sum = 0;
  for (UserId user : ids<UserId>(market.users.size())) sum += static_cast<double>(amount(user));
  return sum;
}

RC_GTEST_PROP(Entitlements, AddUpToWhatThereIsOrIsAskedFor, ()) {
  Market market(kThreeTypes, drawn_tickets(), entitlement_options("gandiva-fair"));
  add_drawn_jobs(market);
  const Entitlements& all = market.entitlements;
  const double demand = sum_of_users(market, [&](UserId user) { return all.demand().of(user); });
  const double base = sum_of_users(market, [&](UserId user) { return all.base().of(user); });
  RC_ASSERT(std::abs(base - std::min<double>(demand, market.cluster.gpus)) < 1e-9);
  for (GpuTypeId type : ids<GpuTypeId>(3)) {
    const double kept = sum_of_users(market, [&](UserId u) { return all.kept().gpus(u, type); });
    const double shares = sum_of_users(market, [&](UserId u) { return all.share(u, type); });
    RC_ASSERT(std::abs(shares - std::min<double>(kept, market.cluster.type_gpus[type])) < 1e-9);
  }
}

RC_GTEST_PROP(EntitlementTrading, KeepsTotalsAndHarmsNoUser, ()) {
  const std::string price = *rc::gen::element<std::string>("slides", "external");
  Market market(kThreeTypes, drawn_tickets(), entitlement_options("gandiva-fair:price=" + price));
  add_drawn_jobs(market);
  const Entitlements& all = market.entitlements;
  std::vector<double> speeds;
  for (std::size_t user = 0; user < market.users.size(); ++user) {
    const bool is_known = *rc::gen::inRange(0, 5) != 0;
    for (int type = 0; type < 3; ++type) {
      speeds.push_back(is_known ? *rc::gen::inRange(1, 60) / 10.0 : 0);
    }
  }
  market.entitlements.trade(speeds);
  for (GpuTypeId type : ids<GpuTypeId>(3)) {
    const double base = sum_of_users(market, [&](UserId u) { return all.base().of(u, type); });
    const double traded = sum_of_users(market, [&](UserId u) { return all.traded(u, type); });
    RC_ASSERT(std::abs(base - traded) < 1e-9 * (1 + base));
  }
  for (UserId user : all.demand().active()) {
    double before = 0;
    double after = 0;
    for (GpuTypeId type : ids<GpuTypeId>(3)) {
      before += speeds[user.row() * 3 + type.row()] * all.base().of(user, type);
      after += speeds[user.row() * 3 + type.row()] * all.traded(user, type);
    }
    RC_ASSERT(after >= before * (1 - 1e-9));
  }
}

// Users have no order: permuting them permutes their results, up to rounding.
RC_GTEST_PROP(Entitlements, DoNotDependOnTheOrderOfUsers, ()) {
  const auto tickets = drawn_tickets();
  const std::size_t users = tickets.size();
  Market market(kThreeTypes, tickets, entitlement_options("gandiva-fair"));
  Market reversed(kThreeTypes, {tickets.rbegin(), tickets.rend()},
                  entitlement_options("gandiva-fair"));
  for (std::size_t user = 0; user < users; ++user) {
    const auto jobs = *rc::gen::inRange(0, 12);
    for (int job = 0; job < jobs; ++job) {
      const auto type = GpuTypeId(*rc::gen::inRange<std::size_t>(0, 3));
      const std::uint32_t gpus = std::uint32_t{1} << *rc::gen::inRange(0, 4);
      market.add(UserId(user), type, gpus);
      reversed.add(UserId(users - 1 - user), type, gpus);
    }
  }
  market.entitlements.update();
  reversed.entitlements.update();
  for (std::size_t user = 0; user < users; ++user) {
    for (GpuTypeId type : ids<GpuTypeId>(3)) {
      const double here = market.share(UserId(user), type);
      const double there = reversed.share(UserId(users - 1 - user), type);
      RC_ASSERT(std::abs(here - there) < 1e-9);
    }
  }
}

TEST(Entitlements, AShareIsNewsOnceItHasChangedByAHundredth) {
  Market market("1xV100:8", {1, 1});
  const UserId ann(0);
  const GpuTypeId type(0);
  EXPECT_FALSE(market.entitlements.take_news(ann, type));
  market.add(ann, type, 1, 8);
  market.entitlements.update();
  EXPECT_TRUE(market.entitlements.take_news(ann, type));
  EXPECT_FALSE(market.entitlements.take_news(ann, type));
  market.add(UserId(1), type, 1, 8);
  market.entitlements.update();
  EXPECT_EQ(market.share(ann), 4);
  EXPECT_TRUE(market.entitlements.take_news(ann, type));
  EXPECT_FALSE(market.entitlements.take_news(ann, type));
}

}  // namespace
}  // namespace fairlead
