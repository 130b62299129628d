#include "fairlead/policy/gandiva_fair/demand.h"

#include "fairlead/policy/gandiva_fair/testing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace fairlead {
namespace {

std::vector<UserId> active(const Demand& demand) {
  std::vector<UserId> users(demand.active().begin(), demand.active().end());
  std::ranges::sort(users);
  return users;
}

TEST(Demand, AUserIsActiveWhileItHasUnfinishedJobs) {
  Demand demand;
  demand.resize(3);
  for (UserId user : {kAnn, kBen, kEve}) EXPECT_TRUE(demand.add(user, 4));
  EXPECT_TRUE(demand.add(kAnn, 2));
  EXPECT_EQ(demand.of(kAnn), 6);
  EXPECT_TRUE(demand.add(kAnn, -4));
  EXPECT_FALSE(demand.add(kAnn, -2));
  EXPECT_EQ(active(demand), (std::vector{kBen, kEve}));
  EXPECT_FALSE(demand.add(kEve, -4));
  EXPECT_TRUE(demand.add(kAnn, 1));
  EXPECT_EQ(active(demand), (std::vector{kAnn, kBen}));
}

TEST(Demand, LoadedUsersAreActiveAsBefore) {
  Demand demand;
  demand.resize(3);
  for (UserId user : {kEve, kBen}) demand.add(user, 4);
  const auto nothing = [](UserId) {};
  Writer writer;
  Archive out(writer);
  demand.archive_active(out, nothing);
  Demand loaded;
  loaded.resize(3);
  Reader reader(writer.bytes());
  Archive in(reader);
  loaded.archive_active(in, nothing);
  ASSERT_TRUE(reader.ok());
  EXPECT_TRUE(std::ranges::equal(loaded.active(), demand.active()));
  EXPECT_EQ(loaded.of(kBen), 4);
  EXPECT_FALSE(loaded.add(kEve, -4));
  EXPECT_EQ(active(loaded), std::vector{kBen});
  // A user that there is not.
  Demand small;
  small.resize(2);
  Reader again(writer.bytes());
  Archive archive(again);
  small.archive_active(archive, nothing);
  EXPECT_FALSE(again.ok());
}

}  // namespace
}  // namespace fairlead
