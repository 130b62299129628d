#include "fairlead/policy/gandiva_fair/testing.h"

#include <gtest/gtest.h>

namespace fairlead {
namespace {

// Two users that are entitled to four GPUs each, and have the given GPUs from 0 s on.
struct TwoUsers : Books {
  TwoUsers(std::int64_t of_ann, std::int64_t of_ben,
           const LedgerOptions& options = ledger_options())
      : Books("2xV100:4", {1, 1}, options) {
    for (UserId user : {kAnn, kBen}) add(user, kFast, 1, 8);
    accounts.update({0});
    accounts.add_allocated({0}, kAnn, kFast, of_ann);
    accounts.add_allocated({0}, kBen, kFast, of_ben);
  }
  double debt(UserId user) const { return accounts.ledger().debt(user); }
  double correction(UserId user) const { return accounts.ledger().correction(user); }
};

LedgerOptions with_horizon(Duration horizon) {
  LedgerOptions options = ledger_options();
  options.horizon = horizon;
  return options;
}

TEST(Ledger, IsWhatIsDueLessWhatIsAllocatedTimesTheTime) {
  TwoUsers ledger(6, 2);
  ledger.accounts.update({60'000});
  EXPECT_NEAR(ledger.debt(kAnn), -120'000, 1e-3);
  EXPECT_NEAR(ledger.debt(kBen), 120'000, 1e-3);
  // The other way round for the same time.
  ledger.accounts.add_allocated({60'000}, kAnn, kFast, -4);
  ledger.accounts.add_allocated({60'000}, kBen, kFast, 4);
  ledger.accounts.update({120'000});
  EXPECT_NEAR(ledger.debt(kAnn), 0, 1e-3);
  EXPECT_NEAR(ledger.debt(kBen), 0, 1e-3);
}

TEST(Ledger, SettlesAllocationsAtTheirMoment) {
  TwoUsers ledger(4, 4);
  ledger.accounts.add_allocated({30'000}, kAnn, kFast, 2);
  ledger.accounts.add_allocated({30'000}, kBen, kFast, -2);
  ledger.accounts.update({60'000});
  EXPECT_NEAR(ledger.debt(kAnn), -60'000, 1e-3);
  EXPECT_NEAR(ledger.debt(kBen), 60'000, 1e-3);
}

TEST(Ledger, AppliesADueFromTheUpdateOnThatBringsIt) {
  TwoUsers ledger(4, 4);
  ledger.accounts.set_capacity(kFast, 4);
  ledger.accounts.update({60'000});  // four GPUs each until now, two from now on
  EXPECT_NEAR(ledger.debt(kAnn), 0, 1e-3);
  ledger.accounts.add_allocated({60'000}, kAnn, kFast, -1);
  ledger.accounts.add_allocated({60'000}, kBen, kFast, -3);
  ledger.accounts.update({120'000});
  EXPECT_NEAR(ledger.debt(kAnn), -60'000, 1e-3);
  EXPECT_NEAR(ledger.debt(kBen), 60'000, 1e-3);
}

TEST(Ledger, TimeTakenOutsideOfJobsPutsItsUserAhead) {
  TwoUsers ledger(4, 4);
  ledger.accounts.charge(kAnn, kFast, {60'000});
  ledger.accounts.update({60'000});
  EXPECT_NEAR(ledger.debt(kAnn), -30'000, 1e-3);
  EXPECT_NEAR(ledger.debt(kBen), 30'000, 1e-3);
  EXPECT_NEAR(ledger.accounts.ledger().debt(kBen, kFast), 30'000, 1e-3);
}

TEST(Ledger, AUserThatComesLaterIsChargedForTheTimeBefore) {
  Books books("2xV100:4", {1, 1}, ledger_options());
  books.add(kBen, kFast, 1, 8);
  books.accounts.update({0});
  books.accounts.charge(kAnn, kFast, {60'000});
  books.add(kAnn, kFast, 1, 8);
  books.accounts.update({0});
  books.accounts.update({0});
  EXPECT_LT(books.accounts.ledger().debt(kAnn), -20'000);
}

TEST(Ledger, HasNoDebtForWhatStoodIdle) {
  TwoUsers unserved(0, 0);
  unserved.accounts.update({60'000});
  EXPECT_NEAR(unserved.debt(kAnn), 0, 1e-3);
  EXPECT_NEAR(unserved.debt(kBen), 0, 1e-3);
  // Two GPUs idle, half of them due to each: Ben is behind by one, Ann ahead by one.
  TwoUsers uneven(4, 2);
  uneven.accounts.update({60'000});
  EXPECT_NEAR(uneven.debt(kAnn), -60'000, 1e-3);
  EXPECT_NEAR(uneven.debt(kBen), 60'000, 1e-3);
}

TEST(Ledger, CorrectsSharesToPayWithinTheHorizon) {
  TwoUsers ledger(6, 2, with_horizon(seconds(600)));
  ledger.accounts.update({60'000});
  // 120 GPU-seconds less half a turn of a GPU, 30, of the 4 x 600 that the user is due until then.
  EXPECT_NEAR(ledger.correction(kAnn), 1 - 0.0375, 1e-9);
  EXPECT_NEAR(ledger.correction(kBen), 1 + 0.0375, 1e-9);
}

TEST(Ledger, CorrectsByAFactorOfTwoAtMost) {
  TwoUsers ledger(8, 0);
  ledger.accounts.update({600'000});
  EXPECT_EQ(ledger.correction(kAnn), 0.5);
  EXPECT_EQ(ledger.correction(kBen), 2);
}

TEST(Ledger, CorrectsNothingForHalfATurnOfTheLargestGang) {
  // Two gangs of the node take turns of two quanta, so either is ahead by 120 GPU-seconds at times.
  Books books("1xV100:4", {1, 1});
  for (UserId user : {kAnn, kBen}) books.add(user, kFast, 4);
  books.accounts.update({0});
  books.accounts.add_allocated({0}, kAnn, kFast, 4);
  books.accounts.update({60'000});
  EXPECT_NEAR(books.accounts.ledger().debt(kBen), 120'000, 1e-3);
  EXPECT_EQ(books.accounts.ledger().correction(kBen), 1);
  EXPECT_EQ(books.accounts.ledger().correction(kAnn), 1);
  // Half a quantum more: 60 GPU-seconds beyond that, of the 2 x 120 due within the horizon.
  books.accounts.update({90'000});
  EXPECT_NEAR(books.accounts.ledger().correction(kBen), 1.25, 1e-9);
  EXPECT_NEAR(books.accounts.ledger().correction(kAnn), 0.75, 1e-9);
}

TEST(Ledger, PaysOnOneTypeWhatAUserMissedOnAnother) {
  const GpuTypeId slow(1);
  Books books("1xV100:4,1xK80:4", {1, 1}, with_horizon(seconds(600)));
  for (UserId user : {kAnn, kBen}) {
    books.add(user, kFast, 1, 8);
    books.add(user, slow, 1, 8);
  }
  books.accounts.update({0});
  EXPECT_DOUBLE_EQ(books.share(kAnn, slow), 2);
  // Ann is kept from the fast GPUs; Ben has all of them.
  books.accounts.add_allocated({0}, kAnn, slow, 2);
  books.accounts.add_allocated({0}, kBen, kFast, 4);
  books.accounts.add_allocated({0}, kBen, slow, 2);
  books.accounts.update({120'000});
  // Behind by 240 GPU-seconds: 30 are half a turn of a job, 120 half a quantum of what Ann is due. The
  // other 90 are paid while 2400 are due: 2 x (1 + 0.0375).
  EXPECT_NEAR(books.share(kAnn, slow), 2.075, 1e-9);
  EXPECT_NEAR(books.share(kBen, slow), 1.925, 1e-9);
}

TEST(Ledger, KnowsOnWhichTypeAUserIsBehindItsShare) {
  const GpuTypeId slow(1);
  Books books("1xV100:4,1xK80:4", {1, 1});
  for (UserId user : {kAnn, kBen}) {
    books.add(user, kFast, 1, 8);
    books.add(user, slow, 1, 8);
  }
  books.accounts.update({0});
  // Each has the four GPUs that it is due, but Ben has the fast ones.
  books.accounts.add_allocated({0}, kAnn, slow, 4);
  books.accounts.add_allocated({0}, kBen, kFast, 4);
  books.accounts.update({60'000});
  const Ledger& ledger = books.accounts.ledger();
  EXPECT_NEAR(ledger.debt(kAnn), 0, 1e-3);
  EXPECT_NEAR(ledger.debt(kAnn, kFast), 120'000, 1e-3);
  EXPECT_NEAR(ledger.debt(kAnn, slow), -120'000, 1e-3);
  EXPECT_NEAR(ledger.debt(kBen, kFast), -120'000, 1e-3);
  EXPECT_NEAR(ledger.debt(kBen, slow), 120'000, 1e-3);
}

TEST(Ledger, CountsGpusByWhatTheyAreWorthToTheUser) {
  const GpuTypeId slow(1);
  Books books("1xV100:4,1xK80:4", {1, 1});
  for (UserId user : {kAnn, kBen}) {
    books.add(user, kFast, 1, 8);
    books.add(user, slow, 1, 8);
  }
  // Each is due two GPUs of each type. For Ann a fast GPU is worth three slow ones, so 1.5 and 0.5
  // GPUs of its due; for Ben all are worth the same.
  books.accounts.set_speeds(std::vector<double>{3, 1, 1, 1});
  books.accounts.update({0});
  books.accounts.add_allocated({0}, kAnn, kFast, 3);
  books.accounts.add_allocated({0}, kBen, kFast, 1);
  books.accounts.add_allocated({0}, kBen, slow, 3);
  books.accounts.update({60'000});
  // Ann's GPUs are worth 4.5 GPUs, Ben's 4; the excess over 8 is not counted as a debt.
  EXPECT_NEAR(books.accounts.ledger().debt(kAnn), -15'000, 1e-3);
  EXPECT_NEAR(books.accounts.ledger().debt(kBen), 15'000, 1e-3);
}

TEST(Ledger, ForgetsWhatAnHourCouldNotPay) {
  TwoUsers ledger(8, 0);
  ledger.accounts.update({7'200'000});
  // A debt of 4 x 7200 GPU-seconds, limited to the due and a gang for an hour.
  EXPECT_NEAR(ledger.debt(kBen), (4 + 1) * 3'600'000, 1e-3);
  EXPECT_NEAR(ledger.debt(kAnn), -(4 + 1) * 3'600'000, 1e-3);
}

TEST(Ledger, CountsWhatIsAllocatedOfAllTypes) {
  TwoUsers ledger(6, 2);
  EXPECT_EQ(ledger.accounts.ledger().allocated(kAnn), 6);
  ledger.accounts.add_allocated({1000}, kAnn, kFast, -5);
  EXPECT_EQ(ledger.accounts.ledger().allocated(kAnn), 1);
}

TEST(Ledger, BeginsAnewWhenForgiven) {
  TwoUsers ledger(6, 2);
  ledger.accounts.forgive({90'000});
  EXPECT_EQ(ledger.debt(kAnn), 0);
  EXPECT_EQ(ledger.correction(kAnn), 1);
  ledger.accounts.update({120'000});
  EXPECT_NEAR(ledger.debt(kAnn), -60'000, 1e-3);
}

TEST(Ledger, ForgetsAUserThatLeaves) {
  TwoUsers ledger(6, 2);
  ledger.accounts.update({60'000});
  ledger.accounts.add_allocated({60'000}, kAnn, kFast, -6);
  ledger.accounts.add_allocated({60'000}, kBen, kFast, 6);
  for (int job = 0; job < 8; ++job) {
    ledger.accounts.drop(kAnn, kFast, 1);
    ledger.accounts.add_demand(kAnn, -1);
  }
  ledger.accounts.update({120'000});
  EXPECT_DOUBLE_EQ(ledger.share(kBen), 8);
  ledger.add(kAnn, kFast, 1, 8);
  ledger.accounts.update({180'000});
  EXPECT_EQ(ledger.debt(kAnn), 0);
  EXPECT_EQ(ledger.correction(kAnn), 1);
}

}  // namespace
}  // namespace fairlead
