#include "fairlead/base/rng.h"
#include "fairlead/policy/gandiva_fair/testing.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace fairlead {
namespace {

const GpuTypeId kFast(0);
const GpuTypeId kSlow(1);
const UserId kAnn(0);
const UserId kBen(1);
const UserId kEve(2);

// --- Shares -----------------------------------------------------------------------------------

TEST(Entitlements, DivideEightGpusAmongThreeUsersByTickets) {
  Market market("2xV100:4", {1, 1, 1});
  for (UserId user : {kAnn, kBen, kEve}) market.add(user, kFast, 1, 8);
  market.entitlements.update({0});
  for (UserId user : {kAnn, kBen, kEve}) {
    EXPECT_DOUBLE_EQ(market.entitlements.base(user), 8.0 / 3);
    EXPECT_DOUBLE_EQ(market.share(user), 8.0 / 3);
    EXPECT_DOUBLE_EQ(market.entitlements.of_job(user, kFast, 1), 1.0 / 3);
  }
  Market uneven("2xV100:4", {1, 2, 5});
  for (UserId user : {kAnn, kBen, kEve}) uneven.add(user, kFast, 1, 8);
  uneven.entitlements.update({0});
  EXPECT_DOUBLE_EQ(uneven.share(kEve), 5);
}

TEST(Entitlements, GiveNoUserMoreThanItsJobsAskFor) {
  Market market("2xV100:4", {1, 1, 1});
  market.add(kAnn, kFast, 2);
  market.add(kBen, kFast, 1, 8);
  market.add(kEve, kFast, 4, 2);
  market.entitlements.update({0});
  EXPECT_DOUBLE_EQ(market.share(kAnn), 2);
  EXPECT_DOUBLE_EQ(market.share(kBen), 3);
  EXPECT_DOUBLE_EQ(market.share(kEve), 3);
  EXPECT_DOUBLE_EQ(market.entitlements.of_job(kAnn, kFast, 2), 2);
  EXPECT_DOUBLE_EQ(market.entitlements.of_job(kEve, kFast, 4), 1.5);
}

TEST(Entitlements, CountTheTicketsOfAllAlikeWithoutFilling) {
  Market market("2xV100:4", {1, 1}, options_of("gandiva-fair:tickets=equal"));
  market.add(kAnn, kFast, 2);
  market.add(kBen, kFast, 1, 8);
  market.entitlements.update({0});
  EXPECT_DOUBLE_EQ(market.share(kAnn), 4);
  EXPECT_DOUBLE_EQ(market.share(kBen), 4);
  EXPECT_DOUBLE_EQ(market.entitlements.of_job(kAnn, kFast, 2), 4);
  EXPECT_DOUBLE_EQ(market.entitlements.of_job(kBen, kFast, 1), 0.5);
}

TEST(Entitlements, OfAUserAreDividedAmongItsJobsUpToTheirGangs) {
  Market market("1xV100:6", {1});
  for (std::uint32_t gpus : {8U, 1U, 2U}) market.add(kAnn, kFast, gpus);
  market.entitlements.update({0});
  EXPECT_DOUBLE_EQ(market.entitlements.of_job(kAnn, kFast, 1), 1);
  EXPECT_DOUBLE_EQ(market.entitlements.of_job(kAnn, kFast, 2), 2);
  EXPECT_DOUBLE_EQ(market.entitlements.of_job(kAnn, kFast, 8), 3);
  // The smallest leaves, and the largest has what it had.
  market.entitlements.drop(kAnn, kFast, 1);
  market.entitlements.add_demand(kAnn, -1);
  market.entitlements.update({0});
  EXPECT_DOUBLE_EQ(market.entitlements.of_job(kAnn, kFast, 8), 4);
}

TEST(Entitlements, FillTheFastestTypeFirst) {
  Market market("1xV100:4,2xK80:4", {1, 1});
  market.add(kAnn, kFast, 2);
  market.add(kBen, kFast, 1, 2);
  market.add(kBen, kSlow, 1, 18);
  market.entitlements.update({0});
  EXPECT_DOUBLE_EQ(market.entitlements.base(kAnn, kFast), 2);
  EXPECT_DOUBLE_EQ(market.entitlements.base(kBen, kFast), 2);
  EXPECT_DOUBLE_EQ(market.entitlements.base(kAnn, kSlow), 0);
  EXPECT_DOUBLE_EQ(market.entitlements.base(kBen, kSlow), 8);
  EXPECT_DOUBLE_EQ(market.entitlements.base(kBen), 10);
  // The other way round.
  market.entitlements.set_type_order(std::vector<GpuTypeId>{kSlow, kFast});
  market.entitlements.update({0});
  EXPECT_DOUBLE_EQ(market.entitlements.base(kAnn, kSlow), 2);
  EXPECT_DOUBLE_EQ(market.entitlements.base(kBen, kSlow), 6);
  EXPECT_DOUBLE_EQ(market.entitlements.base(kAnn, kFast), 0);
  EXPECT_DOUBLE_EQ(market.entitlements.base(kBen, kFast), 4);
}

TEST(Entitlements, LeaveToOthersWhatAUserKeepsNoJobsFor) {
  Market market("2xV100:4", {1, 1});
  market.add(kAnn, kFast, 1);
  market.entitlements.add_demand(kAnn, 7);  // waits outside
  market.add(kBen, kFast, 1, 8);
  market.entitlements.update({0});
  EXPECT_DOUBLE_EQ(market.entitlements.base(kAnn), 4);
  EXPECT_DOUBLE_EQ(market.share(kAnn), 1);
  EXPECT_DOUBLE_EQ(market.share(kBen), 7);
}

// --- The ledger -------------------------------------------------------------------------------

// Two users that are entitled to four GPUs each, and hold what is said from 0 s on.
struct Ledger : Market {
  Ledger(std::int64_t of_ann, std::int64_t of_ben,
         const EntitlementOptions& options = without_fading())
      : Market("2xV100:4", {1, 1}, options) {
    for (UserId user : {kAnn, kBen}) add(user, kFast, 1, 8);
    entitlements.update({0});
    entitlements.add_held({0}, kAnn, kFast, of_ann);
    entitlements.add_held({0}, kBen, kFast, of_ben);
  }
  double debt(UserId user) const { return entitlements.debt(user, kFast); }
  double correction(UserId user) const { return entitlements.correction(user, kFast); }
};

TEST(Ledger, IsTheShareLessWhatIsHeldTimesTheTime) {
  Ledger ledger(6, 2);
  ledger.entitlements.update({60'000});
  EXPECT_NEAR(ledger.debt(kAnn), -120'000, 1e-3);
  EXPECT_NEAR(ledger.debt(kBen), 120'000, 1e-3);
  // The other way round for as long.
  ledger.entitlements.add_held({60'000}, kAnn, kFast, -4);
  ledger.entitlements.add_held({60'000}, kBen, kFast, 4);
  ledger.entitlements.update({120'000});
  EXPECT_NEAR(ledger.debt(kAnn), 0, 1e-3);
  EXPECT_NEAR(ledger.debt(kBen), 0, 1e-3);
}

TEST(Ledger, SettlesHoldsAtTheirMoment) {
  Ledger ledger(4, 4);
  ledger.entitlements.add_held({30'000}, kAnn, kFast, 2);
  ledger.entitlements.add_held({30'000}, kBen, kFast, -2);
  ledger.entitlements.update({60'000});
  EXPECT_NEAR(ledger.debt(kAnn), -60'000, 1e-3);
  EXPECT_NEAR(ledger.debt(kBen), 60'000, 1e-3);
}

TEST(Ledger, AppliesAShareFromTheUpdateOnThatBringsIt) {
  Ledger ledger(4, 4);
  ledger.entitlements.set_capacity(kFast, 4);
  ledger.entitlements.update({60'000});  // four GPUs each until now, two from now on
  EXPECT_NEAR(ledger.debt(kAnn), 0, 1e-3);
  ledger.entitlements.add_held({60'000}, kAnn, kFast, -1);
  ledger.entitlements.add_held({60'000}, kBen, kFast, -3);
  ledger.entitlements.update({120'000});
  EXPECT_NEAR(ledger.debt(kAnn), -60'000, 1e-3);
  EXPECT_NEAR(ledger.debt(kBen), 60'000, 1e-3);
}

TEST(Ledger, HalvesADebtAsOldAsTheMemory) {
  Ledger ledger(6, 2, {.memory = seconds(2000)});
  ledger.entitlements.update({60'000});
  EXPECT_NEAR(ledger.debt(kBen), 120'000, 1e-3);
  ledger.entitlements.add_held({60'000}, kAnn, kFast, -2);
  ledger.entitlements.add_held({60'000}, kBen, kFast, 2);
  ledger.entitlements.update({2'060'000});
  EXPECT_NEAR(ledger.debt(kAnn), -60'000, 1e-3);
  EXPECT_NEAR(ledger.debt(kBen), 60'000, 1e-3);
}

TEST(Ledger, HasNoDebtForWhatStoodIdle) {
  Ledger unserved(0, 0);
  unserved.entitlements.update({60'000});
  EXPECT_NEAR(unserved.debt(kAnn), 0, 1e-3);
  EXPECT_NEAR(unserved.debt(kBen), 0, 1e-3);
  // Two GPUs idle, which each would have had half of: Ben is behind by one, Ann ahead by one.
  Ledger uneven(4, 2);
  uneven.entitlements.update({60'000});
  EXPECT_NEAR(uneven.debt(kAnn), -60'000, 1e-3);
  EXPECT_NEAR(uneven.debt(kBen), 60'000, 1e-3);
}

TEST(Ledger, CorrectsTicketsToPayWithinTheHorizon) {
  Ledger ledger(6, 2, without_fading("gandiva-fair:horizon_s=600"));
  ledger.entitlements.update({60'000});
  // 120 GPU-seconds of the 4 x 600 that the user is due until then.
  EXPECT_NEAR(ledger.correction(kAnn), 0.95, 1e-9);
  EXPECT_NEAR(ledger.correction(kBen), 1.05, 1e-9);
}

TEST(Ledger, ForgetsWhatTheHorizonCouldNotPay) {
  Ledger ledger(8, 0, without_fading("gandiva-fair:horizon_s=600"));
  ledger.entitlements.update({7'200'000});
  // A debt of 4 x 7200, held down to the share and a gang for the horizon.
  EXPECT_NEAR(ledger.debt(kBen), (4 + 1) * 600'000, 1e-3);
  EXPECT_NEAR(ledger.debt(kAnn), -(4 + 1) * 600'000, 1e-3);
  EXPECT_DOUBLE_EQ(ledger.correction(kBen), 1 + 5.0 / 4);
  EXPECT_DOUBLE_EQ(ledger.correction(kAnn), 0.25);
}

TEST(Ledger, RemembersOnlyThreeTurnsOfWhoHasAllItAsksFor) {
  Market market("2xV100:4", {1, 1});
  market.add(kAnn, kFast, 2);
  market.add(kBen, kFast, 1, 8);
  market.entitlements.update({0});
  market.entitlements.add_held({0}, kBen, kFast, 8);
  market.entitlements.update({600'000});
  EXPECT_NEAR(market.entitlements.debt(kAnn, kFast), 3 * 2 * 60'000, 1e-3);
}

TEST(Ledger, BeginsAnewWhenForgiven) {
  Ledger ledger(6, 2);
  ledger.entitlements.forgive({90'000});
  EXPECT_EQ(ledger.debt(kAnn), 0);
  EXPECT_EQ(ledger.correction(kAnn), 1);
  ledger.entitlements.update({120'000});
  EXPECT_NEAR(ledger.debt(kAnn), -60'000, 1e-3);
}

TEST(Ledger, ForgetsAUserThatLeaves) {
  Ledger ledger(6, 2);
  ledger.entitlements.update({60'000});
  ledger.entitlements.add_held({60'000}, kAnn, kFast, -6);
  ledger.entitlements.add_held({60'000}, kBen, kFast, 6);
  for (int job = 0; job < 8; ++job) {
    ledger.entitlements.drop(kAnn, kFast, 1);
    ledger.entitlements.add_demand(kAnn, -1);
  }
  ledger.entitlements.update({120'000});
  EXPECT_DOUBLE_EQ(ledger.share(kBen), 8);
  ledger.add(kAnn, kFast, 1, 8);
  ledger.entitlements.update({180'000});
  EXPECT_EQ(ledger.debt(kAnn), 0);
  EXPECT_EQ(ledger.correction(kAnn), 1);
}

// --- Trading ----------------------------------------------------------------------------------

TEST(EntitlementTrading, IsThatOfTheSlides) {
  // Speedups 1.2, 2 and 6; each has 4 fast and 12 slow GPUs. The highest buys from the lowest at 2.
  Market market("3xV100:4,9xK80:4", {1, 1, 1});
  for (UserId user : {kAnn, kBen, kEve}) {
    market.add(user, kFast, 1, 12);
    market.add(user, kSlow, 1, 36);
  }
  market.entitlements.update({0});
  const std::vector<double> speeds = {1.2, 1, 2, 1, 6, 1};
  const auto trades = market.entitlements.trade(speeds);
  ASSERT_EQ(trades.size(), 1U);
  EXPECT_EQ(market.entitlements.active()[trades[0].seller], kAnn);
  EXPECT_EQ(market.entitlements.active()[trades[0].buyer], kEve);
  EXPECT_DOUBLE_EQ(trades[0].fast_gpus, 4);
  EXPECT_DOUBLE_EQ(trades[0].price, 2);
  EXPECT_DOUBLE_EQ(market.entitlements.traded(kAnn, kFast), 0);
  EXPECT_DOUBLE_EQ(market.entitlements.traded(kAnn, kSlow), 20);
  EXPECT_DOUBLE_EQ(market.entitlements.traded(kBen, kFast), 4);
  EXPECT_DOUBLE_EQ(market.entitlements.traded(kEve, kFast), 8);
  EXPECT_DOUBLE_EQ(market.entitlements.traded(kEve, kSlow), 4);
  // Shares follow: what the seller keeps on the fast type gets next to nothing.
  EXPECT_NEAR(market.share(kAnn, kFast), 0, 1e-4);
  EXPECT_NEAR(market.share(kEve, kFast), 8, 1e-4);
  EXPECT_DOUBLE_EQ(market.entitlements.base(kAnn, kFast), 4);  // as it was
}

TEST(EntitlementTrading, LeavesOutWhoHasAllItCanUse) {
  Market market("3xV100:4,9xK80:4", {1, 1, 1});
  market.add(kAnn, kFast, 1, 4);  // 4 GPUs in all
  for (UserId user : {kBen, kEve}) {
    market.add(user, kFast, 1, 12);
    market.add(user, kSlow, 1, 36);
  }
  market.entitlements.update({0});
  EXPECT_TRUE(market.entitlements.trade(std::vector<double>{1.2, 1, 2, 1, 6, 1}).empty());
  EXPECT_DOUBLE_EQ(market.entitlements.traded(kAnn, kFast), 4);
}

TEST(EntitlementTrading, KeepsItsTermsWhenUsersComeAndGo) {
  Market market("3xV100:4,9xK80:4", {1, 1, 1, 1});
  for (UserId user : {kAnn, kBen, kEve}) market.add(user, kFast, 1, 48);
  market.entitlements.update({0});
  market.entitlements.trade(std::vector<double>{1.2, 1, 2, 1, 6, 1, 0, 0});
  const UserId newcomer(3);
  market.add(newcomer, kFast, 1, 48);
  market.entitlements.update({60'000});
  // 3 fast and 9 slow GPUs each, times 0, 1, 2, 1 and 5/3, 1, 1/3, 1.
  EXPECT_DOUBLE_EQ(market.entitlements.base(newcomer, kFast), 3);
  EXPECT_DOUBLE_EQ(market.entitlements.traded(kAnn, kFast), 0);
  EXPECT_DOUBLE_EQ(market.entitlements.traded(kEve, kFast), 6);
  EXPECT_DOUBLE_EQ(market.entitlements.traded(kAnn, kSlow), 15);
  EXPECT_DOUBLE_EQ(market.entitlements.traded(newcomer, kSlow), 9);
}

// --- In general -------------------------------------------------------------------------------

constexpr std::string_view kThreeTypes = "3xV100:4,2xP100:8,5xK80:4";

std::vector<std::int64_t> drawn_tickets() {
  return *rc::gen::container<std::vector<std::int64_t>>(*rc::gen::inRange<std::size_t>(1, 7),
                                                        rc::gen::inRange<std::int64_t>(1, 6));
}

void add_drawn_jobs(Market& market) {
  for (UserId user : ids<UserId>(market.users.size())) {
    const auto jobs = *rc::gen::inRange(0, 12);
    for (int job = 0; job < jobs; ++job) {
      const auto type = GpuTypeId(*rc::gen::inRange<std::size_t>(0, 3));
      market.add(user, type, std::uint32_t{1} << *rc::gen::inRange(0, 4));
    }
  }
  market.entitlements.update({0});
}

double sum_of_users(const Market& market, const auto& amount) {
  double sum = 0;
  for (UserId user : ids<UserId>(market.users.size())) sum += static_cast<double>(amount(user));
  return sum;
}

RC_GTEST_PROP(Entitlements, AddUpToWhatThereIsOrIsAskedFor, ()) {
  Market market(kThreeTypes, drawn_tickets(), options_of("gandiva-fair"));
  add_drawn_jobs(market);
  const Entitlements& all = market.entitlements;
  const double demand = sum_of_users(market, [&](UserId user) { return all.demand(user); });
  const double base = sum_of_users(market, [&](UserId user) { return all.base(user); });
  RC_ASSERT(std::abs(base - std::min<double>(demand, market.cluster.gpus)) < 1e-9);
  for (GpuTypeId type : ids<GpuTypeId>(3)) {
    const double kept = sum_of_users(market, [&](UserId u) { return all.kept(u, type); });
    const double shares = sum_of_users(market, [&](UserId u) { return all.share(u, type); });
    RC_ASSERT(std::abs(shares - std::min<double>(kept, market.cluster.type_gpus[type])) < 1e-9);
  }
}

RC_GTEST_PROP(EntitlementTrading, KeepsTotalsAndHarmsNoUser, ()) {
  const std::string price = *rc::gen::element<std::string>("slides", "external");
  Market market(kThreeTypes, drawn_tickets(), options_of("gandiva-fair:price=" + price));
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
    const double base = sum_of_users(market, [&](UserId u) { return all.base(u, type); });
    const double traded = sum_of_users(market, [&](UserId u) { return all.traded(u, type); });
    RC_ASSERT(std::abs(base - traded) < 1e-9 * (1 + base));
  }
  for (UserId user : all.active()) {
    double before = 0;
    double after = 0;
    for (GpuTypeId type : ids<GpuTypeId>(3)) {
      before += speeds[user.row() * 3 + type.row()] * all.base(user, type);
      after += speeds[user.row() * 3 + type.row()] * all.traded(user, type);
    }
    RC_ASSERT(after >= before * (1 - 1e-9));
  }
}

// Draws what happens next; equal seeds, equal happenings.
class Happenings {
 public:
  Happenings(std::size_t users, std::uint64_t seed) : rng_(seed), jobs_(users) {}

  void happen(Entitlements& entitlements) {
    now_.ms += static_cast<std::int64_t>(rng_.below(120'000));
    const UserId user(rng_.below(jobs_.size()));
    switch (rng_.below(8)) {
      case 0:
      case 1:
        return arrive(entitlements, user);
      case 2:
        return leave(entitlements, user);
      case 3:
        return turn(entitlements, user);
      case 4:
        return entitlements.set_capacity(GpuTypeId(rng_.below(3)),
                                         static_cast<std::int64_t>(rng_.below(20)));
      case 5:
        entitlements.update(now_);
        return entitlements.forgive(now_);
      case 6:
        entitlements.update(now_);
        return trade(entitlements);
      default:
        return entitlements.update(now_);
    }
  }

 private:
  struct Job {
    GpuTypeId type;
    std::uint32_t gpus;
    bool holds;
  };
  void arrive(Entitlements& entitlements, UserId user) {
    const Job job = {GpuTypeId(rng_.below(3)), std::uint32_t{1} << rng_.below(4), false};
    jobs_[user.row()].push_back(job);
    entitlements.add_demand(user, job.gpus);
    entitlements.keep(user, job.type, job.gpus);
  }
  void turn(Entitlements& entitlements, UserId user) {
    for (Job& job : jobs_[user.row()]) {
      job.holds = !job.holds;
      const std::int64_t gpus = job.gpus;
      entitlements.add_held(now_, user, job.type, job.holds ? gpus : -gpus);
    }
  }
  void leave(Entitlements& entitlements, UserId user) {
    for (auto left = rng_.below(4); left > 0 && !jobs_[user.row()].empty(); --left) {
      const Job job = jobs_[user.row()].back();
      jobs_[user.row()].pop_back();
      const std::int64_t gpus = job.gpus;
      if (job.holds) entitlements.add_held(now_, user, job.type, -gpus);
      entitlements.drop(user, job.type, job.gpus);
      entitlements.add_demand(user, -gpus);
    }
  }
  void trade(Entitlements& entitlements) {
    std::vector<double> speeds;
    for (std::size_t i = 0; i < jobs_.size() * 3; ++i) speeds.push_back(1 + 5 * rng_.uniform());
    entitlements.trade(speeds);
  }

  Rng rng_;
  Time now_;
  std::vector<std::vector<Job>> jobs_;  // of each user
};

RC_GTEST_PROP(Ledger, CorrectsByAFactorOfFourAtMost, ()) {
  const auto tickets = drawn_tickets();
  Market market(kThreeTypes, tickets, options_of("gandiva-fair"));
  Happenings world(tickets.size(), *rc::gen::arbitrary<std::uint64_t>());
  for (int step = 0; step < 60; ++step) {
    world.happen(market.entitlements);
    for (UserId user : ids<UserId>(tickets.size())) {
      for (GpuTypeId type : ids<GpuTypeId>(3)) {
        const double correction = market.entitlements.correction(user, type);
        RC_ASSERT(correction >= 0.25 && correction <= 4);
        RC_ASSERT(std::isfinite(market.entitlements.debt(user, type)));
      }
    }
  }
}

std::vector<double> figures_of(const Entitlements& entitlements) {
  std::vector<double> figures;
  for (UserId user : ids<UserId>(entitlements.users())) {
    for (GpuTypeId type : ids<GpuTypeId>(entitlements.types())) {
      figures.insert(figures.end(),
                     {entitlements.base(user, type), entitlements.traded(user, type),
                      entitlements.share(user, type), entitlements.debt(user, type),
                      entitlements.correction(user, type), entitlements.of_job(user, type, 8)});
    }
  }
  return figures;
}

RC_GTEST_PROP(Entitlements, AreSavedAndLoadedAtAnyMoment, ()) {
  const auto tickets = drawn_tickets();
  const EntitlementOptions options =
      options_of(*rc::gen::inRange(0, 4) != 0 ? "gandiva-fair" : "gandiva-fair:tickets=equal");
  Market plain(kThreeTypes, tickets, options);
  Market first(kThreeTypes, tickets, options);
  auto reloaded = std::make_unique<Entitlements>(first.entitlements);
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  Happenings world(tickets.size(), seed);
  Happenings same_world(tickets.size(), seed);
  Rng moments(seed);
  for (int step = 0; step < 60; ++step) {
    world.happen(plain.entitlements);
    same_world.happen(*reloaded);
    RC_ASSERT(figures_of(plain.entitlements) == figures_of(*reloaded));
    if (moments.below(3) != 0) continue;
    Writer writer;
    reloaded->save(writer);
    reloaded = std::make_unique<Entitlements>(options);
    Reader reader(writer.bytes());
    reloaded->load(reader);
    RC_ASSERT(reader.ok());
    RC_ASSERT(reader.left() == 0U);
    reloaded->begin(first.users, first.cluster);
  }
}

TEST(Entitlements, OfAUserThatIsAwayAreSavedToo) {
  // What a user had once has no effect when it comes back, saved or not.
  const auto after = [](bool is_saved) {
    Market market("2xV100:4", {1, 1});
    market.add(kBen, kFast, 1, 8);
    market.add(kAnn, kFast, 8);
    market.entitlements.update({0});
    market.entitlements.drop(kAnn, kFast, 8);
    market.entitlements.add_demand(kAnn, -8);
    Entitlements loaded(without_fading());
    if (is_saved) {
      Writer writer;
      market.entitlements.save(writer);
      Reader reader(writer.bytes());
      loaded.load(reader);
    }
    Entitlements& entitlements = is_saved ? loaded : market.entitlements;
    entitlements.add_demand(kAnn, 1);
    entitlements.keep(kAnn, kFast, 1);
    entitlements.update({60'000});
    entitlements.add_held({60'000}, kBen, kFast, 8);
    entitlements.update({3'660'000});
    return entitlements.debt(kAnn, kFast);
  };
  EXPECT_EQ(after(true), after(false));
}

TEST(Entitlements, RefuseDamagedBytes) {
  Market market("2xV100:4,1xK80:4", {1, 1});
  market.add(kAnn, kFast, 2);
  market.add(kBen, kSlow, 1, 3);
  market.entitlements.update({0});
  Writer writer;
  market.entitlements.save(writer);
  for (std::size_t size = 0; size < writer.bytes().size(); ++size) {
    Reader reader({writer.bytes().data(), size});
    Entitlements(options_of("gandiva-fair")).load(reader);
    EXPECT_FALSE(reader.ok()) << size << " of " << writer.bytes().size() << " bytes";
  }
}

// Users have no order: permuting them permutes what they get, up to rounding.
RC_GTEST_PROP(Entitlements, DoNotDependOnTheOrderOfUsers, ()) {
  const auto tickets = drawn_tickets();
  const std::size_t users = tickets.size();
  Market market(kThreeTypes, tickets, options_of("gandiva-fair"));
  Market reversed(kThreeTypes, {tickets.rbegin(), tickets.rend()}, options_of("gandiva-fair"));
  for (std::size_t user = 0; user < users; ++user) {
    const auto jobs = *rc::gen::inRange(0, 12);
    for (int job = 0; job < jobs; ++job) {
      const auto type = GpuTypeId(*rc::gen::inRange<std::size_t>(0, 3));
      const std::uint32_t gpus = std::uint32_t{1} << *rc::gen::inRange(0, 4);
      market.add(UserId(user), type, gpus);
      reversed.add(UserId(users - 1 - user), type, gpus);
    }
  }
  market.entitlements.update({0});
  reversed.entitlements.update({0});
  for (std::size_t user = 0; user < users; ++user) {
    for (GpuTypeId type : ids<GpuTypeId>(3)) {
      const double here = market.share(UserId(user), type);
      const double there = reversed.share(UserId(users - 1 - user), type);
      RC_ASSERT(std::abs(here - there) < 1e-9);
    }
  }
}

RC_GTEST_PROP(Entitlements, FollowTheRatioOfTicketsAndNotTheirNumber, ()) {
  const auto tickets = drawn_tickets();
  std::vector<std::int64_t> scaled = tickets;
  for (std::int64_t& each : scaled) each *= 1024;  // a power of two: exact
  Market market(kThreeTypes, tickets, options_of("gandiva-fair"));
  Market large(kThreeTypes, scaled, options_of("gandiva-fair"));
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  Happenings world(tickets.size(), seed);
  Happenings same_world(tickets.size(), seed);
  for (int step = 0; step < 40; ++step) {
    world.happen(market.entitlements);
    same_world.happen(large.entitlements);
    RC_ASSERT(figures_of(market.entitlements) == figures_of(large.entitlements));
  }
}

}  // namespace
}  // namespace fairlead
