#include "fairlead/policy/fairlead/debts.h"

#include <gtest/gtest.h>

#include <vector>

namespace fairlead {
namespace {

const UserId kAnn(0);
const UserId kBob(1);

// Ann and Bob on eight GPUs that are alike.
struct Two {
  explicit Two(const std::vector<std::int64_t>& tickets = {1, 1}) {
    for (std::int64_t count : tickets) {
      users.names.push_back("user");
      users.tickets.push_back(count);
    }
  }
  void pass(Duration duration, const std::vector<Debts::Ask>& asks) {
    debts.expect(users, 8, asks);
    now = now + duration;
    debts.settle(now);
  }

  Users users;
  Time now;
  Debts debts{seconds(600), seconds(60)};
};

TEST(Debts, UsersAreDueGpusByTicketsAndNoMoreThanTheyAskFor) {
  Two two({1, 3});
  two.debts.expect(two.users, 8, std::vector<Debts::Ask>{{kAnn, 8}, {kBob, 4}});
  EXPECT_DOUBLE_EQ(two.debts.due(kAnn), 4);
  EXPECT_DOUBLE_EQ(two.debts.due(kBob), 4);
}

TEST(Debts, WhoHasMoreThanItIsDueIsAheadByAsMuchAsTheOtherIsBehind) {
  Two two;
  two.pass(seconds(10), {{kAnn, 6, 6}, {kBob, 2, 2}, {kBob, 4}});
  EXPECT_DOUBLE_EQ(two.debts.behind_s(kAnn), -20);
  EXPECT_DOUBLE_EQ(two.debts.behind_s(kBob), 20);
}

TEST(Debts, WhatNoUserReceivedIsNoUsersDebt) {
  Two two;
  two.pass(seconds(10), {{kAnn, 4, 4}, {kAnn, 4}, {kBob, 8}});
  // Each is due four, and four idle: Ann has two more than half of the others.
  EXPECT_DOUBLE_EQ(two.debts.behind_s(kAnn), -20);
  EXPECT_DOUBLE_EQ(two.debts.behind_s(kBob), 20);
}

TEST(Debts, APauseClearsNone) {
  Two two;
  two.pass(seconds(10), {{kAnn, 8, 8}, {kBob, 8}});
  two.pass(seconds(100), {{kBob, 8, 8}});
  EXPECT_DOUBLE_EQ(two.debts.behind_s(kAnn), -40);
}

TEST(Debts, ForgivenTimeIsAtTheCostOfAllUsers) {
  Two two;
  two.debts.expect(two.users, 8, std::vector<Debts::Ask>{{kAnn, 8, 4}, {kBob, 8, 4}});
  two.debts.forgive(kAnn, 100);
  two.debts.settle(Time{10'000});
  EXPECT_DOUBLE_EQ(two.debts.behind_s(kAnn), 50);
  EXPECT_DOUBLE_EQ(two.debts.behind_s(kBob), -50);
}

TEST(Debts, TimeTakenOutsideOfJobsPutsItsUserAhead) {
  Two two;
  two.debts.expect(two.users, 8, std::vector<Debts::Ask>{{kAnn, 8, 4}, {kBob, 8, 4}});
  two.debts.charge(kAnn, 100);
  two.debts.settle(Time{10'000});
  EXPECT_DOUBLE_EQ(two.debts.behind_s(kAnn), -50);
  EXPECT_DOUBLE_EQ(two.debts.behind_s(kBob), 50);
}

TEST(Debts, AUserWithoutJobsIsChargedToo) {
  Two two;
  two.pass(seconds(10), {{kAnn, 8, 8}});
  two.debts.charge(kBob, 100);
  two.pass(seconds(10), {{kAnn, 8, 8}});
  EXPECT_DOUBLE_EQ(two.debts.behind_s(kBob), -100);
  two.pass(seconds(10), {{kAnn, 8, 4}, {kBob, 8, 4}});
  EXPECT_DOUBLE_EQ(two.debts.behind_s(kBob), -50);
  EXPECT_DOUBLE_EQ(two.debts.behind_s(kAnn), 50);
}

// A policy that takes over charges nothing for the time before.
TEST(Debts, TimeThatIsNotChargedIsNotForgiven) {
  Two two;
  two.debts.forgive(kAnn, 100);
  two.debts.settle(Time{10'000});
  EXPECT_DOUBLE_EQ(two.debts.behind_s(kAnn), 0);
}

TEST(Debts, WhatCannotBeServedIsForgottenAtLast) {
  Two two;
  for (int hour = 0; hour < 100; ++hour)
    two.pass(seconds(3600), {{kAnn, 4, 4, 4}, {kBob, 8, 0, 8}});
  // Ten times 4 GPUs x (600 + 2 x 60) s + a gang of 8 x 60 s.
  EXPECT_DOUBLE_EQ(two.debts.behind_s(kBob), 33'600);
}

TEST(Debts, AreSavedAndLoaded) {
  Two two;
  two.pass(seconds(10), {{kAnn, 4, 4}, {kBob, 8}});
  Writer writer;
  save(two.debts, writer);
  Debts loaded(seconds(600), seconds(60));
  Reader reader(writer.bytes());
  load(loaded, reader);
  EXPECT_TRUE(reader.ok());
  EXPECT_EQ(loaded.behind_s(kBob), two.debts.behind_s(kBob));
  EXPECT_EQ(loaded.due(kAnn), two.debts.due(kAnn));
}

}  // namespace
}  // namespace fairlead
