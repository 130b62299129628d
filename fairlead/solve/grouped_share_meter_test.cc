#include "fairlead/solve/share_meter.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <vector>

namespace fairlead {
namespace {

constexpr UserId kAnn(0);
constexpr UserId kBob(1);
constexpr UserId kEve(2);
constexpr GroupId kLab(0);

TEST(ShareMeter, GivesAGroupOneShareHoweverManyUsersItHas) {
  ShareMeter meter;
  meter.add_group(1, 0);
  meter.add_user(1, kLab);
  meter.add_user(1, kLab);
  meter.add_user(1);
  meter.set_gpus({0}, 8);
  for (UserId user : {kAnn, kBob, kEve}) meter.add_demand({0}, user, 8);
  EXPECT_DOUBLE_EQ(meter.share(kAnn), 2);
  EXPECT_DOUBLE_EQ(meter.share(kEve), 4);
  EXPECT_DOUBLE_EQ(meter.entitled_gpu_ms(kBob, {1000}), 2000);
  // Bob leaves, and Ann has the group's share alone.
  meter.add_demand({1000}, kBob, -8);
  EXPECT_DOUBLE_EQ(meter.share(kAnn), 4);
  EXPECT_DOUBLE_EQ(meter.entitled_gpu_ms(kAnn, {2000}), 6000);
  EXPECT_DOUBLE_EQ(meter.entitled_gpu_ms(kBob, {2000}), 2000);
}

TEST(ShareMeter, EntitlesAGroupToNoMoreThanItsQuota) {
  ShareMeter meter;
  meter.add_group(5, 2);
  meter.add_user(1, kLab);
  meter.add_user(1);
  meter.set_gpus({0}, 8);
  meter.add_demand({0}, kAnn, 6);
  EXPECT_DOUBLE_EQ(meter.share(kAnn), 2);
  EXPECT_TRUE(meter.any_short());
  EXPECT_EQ(meter.short_since(kAnn), Time{0});
  meter.add_demand({1000}, kBob, 6);
  EXPECT_DOUBLE_EQ(meter.share(kBob), 6);
  EXPECT_EQ(meter.short_since(kBob), Time::never());
  meter.add_demand({2000}, kAnn, -4);
  EXPECT_FALSE(meter.any_short());
}

TEST(ShareMeter, GoesOnAsBeforeWhenTheFirstGroupComes) {
  ShareMeter meter;
  meter.add_user(1);
  meter.set_gpus({0}, 4);
  meter.add_demand({0}, kAnn, 6);
  meter.add_group(3, 0);
  meter.add_user(1, kLab);
  EXPECT_DOUBLE_EQ(meter.entitled_gpu_ms(kAnn, {1000}), 4000);
  EXPECT_EQ(meter.short_since(kAnn), Time{0});
  meter.add_demand({1000}, kBob, 4);
  EXPECT_DOUBLE_EQ(meter.share(kAnn), 1);
  EXPECT_DOUBLE_EQ(meter.entitled_gpu_ms(kAnn, {2000}), 5000);
}

TEST(GroupedShareMeter, WithoutGroupsAgreesWithFairShareMeter) {
  EXPECT_TRUE(rc::check([] {
    const auto users = *rc::gen::inRange<std::size_t>(1, 6);
    FairShareMeter flat;
    for (std::size_t i = 0; i < users; ++i) flat.add_user(1 + static_cast<std::int64_t>(i % 3));
    GroupedShareMeter grouped(flat);
    std::vector<std::int64_t> demand(users, 0);
    Time now;
    const auto changes = *rc::gen::inRange(0, 30);
    for (int i = 0; i < changes; ++i) {
      now = now + milliseconds(*rc::gen::inRange<std::int64_t>(0, 1000));
      const UserId user(*rc::gen::inRange<std::size_t>(0, users));
      const auto value = *rc::gen::inRange<std::int64_t>(0, 40);
      if (*rc::gen::inRange(0, 4) == 0) {
        flat.set_gpus(now, value);
        grouped.set_gpus(now, value);
      } else {
        flat.add_demand(now, user, value - demand[user.row()]);
        grouped.add_demand(now, user, value - demand[user.row()]);
        demand[user.row()] = value;
      }
      RC_ASSERT(flat.any_short() == grouped.any_short());
      for (UserId each : ids<UserId>(users)) {
        RC_ASSERT(std::abs(flat.share(each) - grouped.share(each)) < 1e-6);
        RC_ASSERT(flat.short_since(each) == grouped.short_since(each));
        const double entitled = flat.entitled_gpu_ms(each, now);
        RC_ASSERT(std::abs(entitled - grouped.entitled_gpu_ms(each, now)) < 1e-6 * (1 + entitled));
      }
    }
  }));
}

}  // namespace
}  // namespace fairlead
