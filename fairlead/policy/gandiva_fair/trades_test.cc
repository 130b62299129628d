#include "fairlead/policy/gandiva_fair/testing.h"

#include <gtest/gtest.h>

#include <vector>

namespace fairlead {
namespace {

// Three users, so that the second-highest speedup is a price, with jobs on both types.
struct Exchange : Town {
  explicit Exchange(bool trade = true)
      : Town("1xV100:6,1xK80:30", {1, 1, 1}),
        trades({.trade = trade, .interval = seconds(600)}, homes, accounts) {
    for (UserId user : ids<UserId>(3)) {
      for (int i = 0; i < 6; ++i) keep(user, 1, 0);
      for (int i = 0; i < 20; ++i) keep(user, 1, 1);
    }
  }
  void learn_speedups(const std::vector<double>& speedups) {
    for (std::size_t user = 0; user < 3; ++user) {
      const JobId job(26 * user);
      learn(job, 0, speedups[user]);
      learn(job, 1, 1);
    }
  }
  void trade() {
    accounts.update(now);
    trades.trade_if_due(view(), plan);
  }
  double fast(std::size_t user) const { return accounts.due().traded(UserId(user), kFast); }

  Trades trades;
};

TEST(Trades, WaitForSpeedsOnAllTypes) {
  Exchange market;
  market.learn(JobId(0), 0, 3);
  market.trade();
  EXPECT_EQ(market.fast(0), 2);
  market.learn_speedups({1.2, 2, 6});
  market.trade();
  EXPECT_EQ(market.fast(0), 0) << "it sold all it had, at once as none were made before";
  EXPECT_DOUBLE_EQ(market.fast(2), 4);
}

TEST(Trades, AreMadeOnceInAnInterval) {
  Exchange market;
  market.learn_speedups({1.2, 2, 6});
  market.trade();
  ASSERT_EQ(market.fast(0), 0);
  market.learn_speedups({6, 2, 1.2});
  market.trade();
  EXPECT_EQ(market.fast(0), 0);
  market.wait(seconds(600));
  market.learn_speedups({6, 2, 1.2});
  market.trade();
  EXPECT_DOUBLE_EQ(market.fast(0), 4);
}

TEST(Trades, WithoutThemTypesAreOrderedAllTheSame) {
  // K80 are faster here, and are shared first. Ann asks for one GPU and is entitled to a K80.
  Town town("1xV100:4,1xK80:4", {1, 1});
  const JobId one = town.keep(kAnn, 1, 0);
  const JobId many = town.keep(kBen, 4, 0);
  town.keep(kBen, 4, 1);
  town.accounts.update(town.now);
  ASSERT_EQ(town.accounts.due().base().of(kAnn, kFast), 1);
  for (JobId job : {one, many}) {
    town.learn(job, 0, 1);
    town.learn(job, 1, 2);
  }
  Trades trades({.trade = false, .interval = seconds(600)}, town.homes, town.accounts);
  trades.trade_if_due(town.view(), town.plan);
  EXPECT_EQ(town.accounts.due().base().of(kAnn, kFast), 0);
  EXPECT_EQ(town.accounts.due().base().of(kAnn, kSlow), 1);
}

}  // namespace
}  // namespace fairlead
