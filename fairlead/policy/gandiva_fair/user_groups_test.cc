#include "fairlead/policy/gandiva_fair/testing.h"

#include <gtest/gtest.h>

namespace fairlead {
namespace {

TEST(UserGroups, LeaveToAllUsersOfAGroupTheRestOfItsQuota) {
  Tenants tenants("2xV100:4", {1, 1, 1});
  tenants.group({kAnn, kBen}, 1, 5);
  KeptGangs kept;
  kept.resize(3, 1);
  kept.add(kAnn, kFast, 2);
  UserGroups groups;
  groups.set(tenants.users, 1, kept);
  EXPECT_EQ(groups.left(kAnn), 3) << "it counts the jobs kept before";
  EXPECT_EQ(groups.left(kBen), 3);
  groups.keep(kBen, 4);
  EXPECT_EQ(groups.left(kAnn), -1);
  groups.keep(kBen, -4);
  EXPECT_EQ(groups.left(kAnn), 3);
  EXPECT_EQ(groups.left(kEve), UserGroups::kNoQuota);
}

TEST(UserGroups, ShareAQuotaOnlyIfTheirGroupHasOne) {
  Tenants tenants("2xV100:4", {1, 1, 1});
  tenants.group({kAnn}, 6);
  UserGroups groups;
  groups.set(tenants.users, 2, {});
  EXPECT_EQ(groups.tickets()[0], 3);
  EXPECT_FALSE(groups.has_quota(kAnn));
  EXPECT_FALSE(groups.has_quota(kBen)) << "it has no group";
  EXPECT_FALSE(groups.share_quota(kBen, kEve));
  tenants.group({kBen, kEve}, 2, 4);
  groups.set(tenants.users, 2, {});
  EXPECT_TRUE(groups.share_quota(kBen, kEve));
  EXPECT_FALSE(groups.share_quota(kAnn, kBen));
}

}  // namespace
}  // namespace fairlead
