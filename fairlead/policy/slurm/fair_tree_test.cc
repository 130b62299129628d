#include "fairlead/policy/slurm/fair_tree.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace fairlead {
namespace {

struct TestUser {
  std::int64_t shares = 1;
  double usage = 0;
  int account = -1;  // none
};

// Accounts have the shares listed.
std::vector<double> factors(const std::vector<std::int64_t>& accounts,
                            const std::vector<TestUser>& users) {
  Users tree;
  IdVector<UserId, double> usage;
  for (const std::int64_t shares : accounts) {
    tree.groups.names.push_back("account");
    tree.groups.tickets.push_back(shares);
    tree.groups.quota.push_back(0);
  }
  for (const TestUser& user : users) {
    tree.names.push_back("user");
    tree.tickets.push_back(user.shares);
    tree.group.push_back(user.account < 0 ? GroupId()
                                          : GroupId(static_cast<std::size_t>(user.account)));
    usage.push_back(user.usage);
  }
  const IdVector<UserId, double> of = fair_tree(tree, usage);
  return {of.begin(), of.end()};
}

using Factors = std::vector<double>;

// "The FairShare value is the user's rank divided by the total number of user associations. The
// highest ranked user receives a 1.0 fairshare value."
TEST(FairTree, RanksUsersBySharesOverUsage) {
  EXPECT_EQ(factors({}, {{.usage = 30}, {.usage = 10}, {.shares = 6, .usage = 30}}),
            (Factors{1.0 / 3, 2.0 / 3, 1}));
}

// "All users from a higher priority account receive a higher fair share factor than all users from a
// lower priority account": however much user 0 has used.
TEST(FairTree, RanksAllOfAnAccountTogether) {
  // 3/4 over 51/91 is above 1, 1/4 over 40/91 below.
  EXPECT_EQ(factors({3, 1}, {{.usage = 50, .account = 0},
                             {.usage = 1, .account = 0},
                             {.usage = 10, .account = 1},
                             {.usage = 30, .account = 1}}),
            (Factors{0.75, 1, 0.5, 0.25}));
}

// "Level FS values are infinity if the association has no usage"; "Sibling users with the same Level
// Fairshare receive the same rank". The next rank is below all of them.
TEST(FairTree, RanksTiedUsersTheSame) {
  EXPECT_EQ(factors({}, {{}, {}, {.usage = 5}}), (Factors{1, 1, 1.0 / 3}));
  EXPECT_EQ(factors({}, {{.usage = 5}, {.shares = 2, .usage = 10}, {.usage = 4}}),
            (Factors{2.0 / 3, 2.0 / 3, 1}));
}

// "Sibling accounts with the same Level Fairshare have their children lists merged before descending."
TEST(FairTree, MergesTheUsersOfTiedAccounts) {
  EXPECT_EQ(factors({1, 1}, {{.usage = 3, .account = 0},
                             {.usage = 1, .account = 0},
                             {.usage = 2, .account = 1},
                             {.usage = 2, .account = 1}}),
            (Factors{0.25, 1, 0.75, 0.75}));
}

// "A user with the same Level Fairshare as a sibling account will receive the same rank as its highest
// ranked user."
TEST(FairTree, RanksAUserTiedWithAnAccountAsItsFirst) {
  EXPECT_EQ(factors({1}, {{.usage = 4}, {.usage = 3, .account = 0}, {.usage = 1, .account = 0}}),
            (Factors{1, 1.0 / 3, 1}));
}

TEST(FairTree, HasAFactorForEachUserOfNoUsageAtAll) {
  EXPECT_EQ(factors({5, 1}, {{.account = 0}, {.account = 1}, {}}), (Factors{1, 1, 1}));
  EXPECT_TRUE(factors({}, {}).empty());
}

}  // namespace
}  // namespace fairlead
