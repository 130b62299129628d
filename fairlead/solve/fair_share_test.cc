#include "fairlead/solve/fair_share.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace fairlead {
namespace {

TEST(FairShare, SplitsByTicketsWhenAllUsersAreShort) {
  const std::vector<Claim> claims = {{1, 100}, {3, 100}};
  EXPECT_EQ(fair_share(claims, 8), (std::vector<double>{2, 6}));
}

TEST(FairShare, GivesWhatASatisfiedUserLeavesToTheOthers) {
  // Three users of equal tickets on 8 GPUs; the first can use only 2.
  const std::vector<Claim> claims = {{1, 2}, {1, 8}, {1, 8}};
  EXPECT_EQ(fair_share(claims, 8), (std::vector<double>{2, 3, 3}));
}

TEST(FairShare, SatisfiesAllUsersWhenThereIsEnough) {
  const std::vector<Claim> claims = {{5, 2}, {1, 3}, {1, 0}};
  EXPECT_EQ(fair_share(claims, 8), (std::vector<double>{2, 3, 0}));
  EXPECT_EQ(fair_share({}, 8), std::vector<double>());
}

TEST(FairShare, FillsInSeveralRounds) {
  // 12 GPUs: level 3 satisfies the first, then 9 / 3 = 3 leaves the second at 3, the rest share 6.
  const std::vector<Claim> claims = {{1, 1}, {1, 3}, {1, 4}, {1, 9}};
  EXPECT_EQ(fair_share(claims, 12), (std::vector<double>{1, 3, 4, 4}));
}

TEST(FairShareMeter, IntegratesTheShareOverTime) {
  FairShareMeter meter;
  const UserId ann = meter.add_user(1);
  const UserId bob = meter.add_user(1);
  meter.set_gpus({0}, 8);
  meter.add_demand({0}, ann, 16);    // alone: 8 GPUs
  meter.add_demand({1000}, bob, 2);  // bob satisfied with 2, ann 6
  meter.add_demand({3000}, bob, 8);  // both short: 4 each
  EXPECT_DOUBLE_EQ(meter.share(ann), 4);
  EXPECT_DOUBLE_EQ(meter.entitled_gpu_ms(ann, {5000}), 8 * 1000 + 6 * 2000 + 4 * 2000);
  EXPECT_DOUBLE_EQ(meter.entitled_gpu_ms(bob, {5000}), 2 * 2000 + 4 * 2000);
  meter.add_demand({5000}, ann, -16);
  EXPECT_DOUBLE_EQ(meter.entitled_gpu_ms(ann, {9000}), 28000);
  EXPECT_DOUBLE_EQ(meter.entitled_gpu_ms(bob, {9000}), 12000 + 8 * 4000);
}

TEST(FairShareMeter, KnowsSinceWhenAUserWantsMoreThanItsShare) {
  FairShareMeter meter;
  const UserId ann = meter.add_user(1);
  const UserId bob = meter.add_user(1);
  meter.set_gpus({0}, 8);
  meter.add_demand({0}, ann, 8);  // all that there is
  EXPECT_EQ(meter.short_since(ann), Time::never());
  EXPECT_FALSE(meter.any_short());
  meter.add_demand({1000}, bob, 2);
  EXPECT_EQ(meter.short_since(ann), Time{1000});
  EXPECT_EQ(meter.short_since(bob), Time::never());
  EXPECT_TRUE(meter.any_short());
  // A job that goes as another comes leaves no gap.
  meter.add_demand({2000}, ann, -8);
  meter.add_demand({2000}, ann, 9);
  EXPECT_EQ(meter.short_since(ann), Time{1000});
  meter.add_demand({3000}, bob, -2);
  meter.set_gpus({3000}, 9);
  EXPECT_EQ(meter.short_since(ann), Time::never());
  meter.set_gpus({4000}, 8);
  EXPECT_EQ(meter.short_since(ann), Time{4000});
}

TEST(FairShareMeter, FollowsALossOfCapacity) {
  FairShareMeter meter;
  const UserId ann = meter.add_user(1);
  meter.set_gpus({0}, 8);
  meter.add_demand({0}, ann, 6);
  meter.set_gpus({10}, 4);
  EXPECT_DOUBLE_EQ(meter.share(ann), 4);
  EXPECT_DOUBLE_EQ(meter.entitled_gpu_ms(ann, {20}), 60 + 40);
}

// A change of demand or tickets of one user, or of the pool where user == the number of users.
struct Change {
  std::size_t user;
  bool of_tickets;
  std::int64_t value;
  std::int64_t after_ms;
};

rc::Gen<Change> any_change(std::size_t users) {
  return rc::gen::construct<Change>(
      rc::gen::inRange<std::size_t>(0, users + 1), rc::gen::arbitrary<bool>(),
      rc::gen::inRange<std::int64_t>(0, 40), rc::gen::inRange<std::int64_t>(0, 1000));
}

void expect_close(double actual, double expected) {
  RC_ASSERT(actual <= expected + 1e-6 + 1e-9 * expected);
  RC_ASSERT(actual >= expected - 1e-6 - 1e-9 * expected);
}

TEST(FairShareMeter, AgreesWithThePlainVersion) {
  EXPECT_TRUE(rc::check([] {
    const auto tickets = *rc::gen::nonEmpty(
        rc::gen::container<std::vector<std::int64_t>>(rc::gen::inRange<std::int64_t>(1, 9)));
    const auto changes = *rc::gen::container<std::vector<Change>>(any_change(tickets.size()));
    FairShareMeter meter;
    std::vector<Claim> claims;
    for (std::int64_t user_tickets : tickets) {
      meter.add_user(user_tickets);
      claims.push_back({user_tickets, 0});
    }
    std::vector<double> entitled(tickets.size(), 0.0);
    std::int64_t gpus = 0;
    Time now;
    for (const Change& change : changes) {
      const auto before = fair_share(claims, gpus);
      for (std::size_t i = 0; i < claims.size(); ++i) {
        entitled[i] += before[i] * static_cast<double>(change.after_ms);
      }
      now = now + milliseconds(change.after_ms);
      if (change.user == claims.size()) {
        gpus = change.value;
        meter.set_gpus(now, gpus);
      } else if (change.of_tickets) {
        claims[change.user].tickets = 1 + change.value;
        meter.set_tickets(now, UserId(change.user), 1 + change.value);
      } else {
        Claim& claim = claims[change.user];
        meter.add_demand(now, UserId(change.user), change.value - claim.demand);
        claim.demand = change.value;
      }
      const auto shares = fair_share(claims, gpus);
      for (std::size_t i = 0; i < claims.size(); ++i) {
        expect_close(meter.share(UserId(i)), shares[i]);
        expect_close(meter.entitled_gpu_ms(UserId(i), now), entitled[i]);
      }
    }
  }));
}

}  // namespace
}  // namespace fairlead
