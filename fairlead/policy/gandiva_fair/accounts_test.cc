// Tests the properties of entitlements and ledger together, whatever happens.
#include "fairlead/base/rng.h"
#include "fairlead/policy/gandiva_fair/testing.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <memory>
#include <string_view>
#include <vector>

namespace fairlead {
namespace {

// Draws the next happening; equal seeds give equal happenings.
class Happenings {
 public:
  Happenings(std::size_t users, std::uint64_t seed) : rng_(seed), jobs_(users) {}

  // When it happens.
  Time happen(Accounts& accounts) {
    now_.ms += static_cast<std::int64_t>(rng_.below(120'000));
    happen_now(accounts);
    return now_;
  }

 private:
  void happen_now(Accounts& accounts) {
    const UserId user(rng_.below(jobs_.size()));
    switch (rng_.below(8)) {
      case 0:
      case 1:
        return arrive(accounts, user);
      case 2:
        return leave(accounts, user);
      case 3:
        return turn(accounts, user);
      case 4:
        return accounts.set_capacity(GpuTypeId(rng_.below(3)),
                                     static_cast<std::int64_t>(rng_.below(20)));
      case 5:
        accounts.update(now_);
        return accounts.forgive(now_);
      case 6:
        accounts.update(now_);
        return trade(accounts);
      default:
        return accounts.update(now_);
    }
  }
  struct Job {
    GpuTypeId type;
    std::uint32_t gpus;
    bool runs;
  };
  void arrive(Accounts& accounts, UserId user) {
    const Job job = {GpuTypeId(rng_.below(3)), std::uint32_t{1} << rng_.below(4), false};
    jobs_[user.row()].push_back(job);
    accounts.add_demand(user, job.gpus);
    accounts.keep(user, job.type, job.gpus);
  }
  void turn(Accounts& accounts, UserId user) {
    for (Job& job : jobs_[user.row()]) {
      job.runs = !job.runs;
      const std::int64_t gpus = job.gpus;
      accounts.add_allocated(now_, user, job.type, job.runs ? gpus : -gpus);
    }
  }
  void leave(Accounts& accounts, UserId user) {
    for (auto left = rng_.below(4); left > 0 && !jobs_[user.row()].empty(); --left) {
      const Job job = jobs_[user.row()].back();
      jobs_[user.row()].pop_back();
      const std::int64_t gpus = job.gpus;
      if (job.runs) accounts.add_allocated(now_, user, job.type, -gpus);
      accounts.drop(user, job.type, job.gpus);
      accounts.add_demand(user, -gpus);
    }
  }
  void trade(Accounts& accounts) {
    std::vector<double> speeds;
    for (std::size_t i = 0; i < jobs_.size() * 3; ++i) speeds.push_back(1 + 5 * rng_.uniform());
    accounts.set_speeds(speeds);
    accounts.update(now_);
    accounts.trade(speeds);
  }

  Rng rng_;
  Time now_;
  std::vector<std::vector<Job>> jobs_;  // jobs of each user
};

RC_GTEST_PROP(Accounts, CorrectByAFactorOfTwoAtMost, ()) {
  const auto tickets = drawn_tickets();
  Books books(kThreeTypes, tickets, ledger_options());
  Happenings world(tickets.size(), *rc::gen::arbitrary<std::uint64_t>());
  for (int step = 0; step < 60; ++step) {
    world.happen(books.accounts);
    for (UserId user : ids<UserId>(tickets.size())) {
      const double correction = books.accounts.ledger().correction(user);
      RC_ASSERT(correction >= 0.5 && correction <= 2);
      RC_ASSERT(std::isfinite(books.accounts.ledger().debt(user)));
    }
  }
}

// Without bounds, which only a debt of an hour reaches.
RC_GTEST_PROP(Accounts, AddUpToNoDebtOfAllUsersTogether, ()) {
  const auto tickets = drawn_tickets();
  Books books(kThreeTypes, tickets, ledger_options("gandiva-fair:tickets=equal"));
  Happenings world(tickets.size(), *rc::gen::arbitrary<std::uint64_t>());
  Time now;
  for (int step = 0; step < 60; ++step) {
    now = world.happen(books.accounts);
    double dues = 0;
    for (UserId user : books.accounts.due().demand().active())
      dues += books.accounts.due().due(user);
    books.accounts.update(now);
    if (dues == 0) continue;
    double debts = 0;
    double sizes = 0;
    for (UserId user : ids<UserId>(tickets.size())) {
      debts += books.accounts.ledger().debt(user);
      sizes += std::abs(books.accounts.ledger().debt(user));
    }
    RC_ASSERT(std::abs(debts) <= 1e-9 * (1 + sizes));
  }
}

std::vector<double> figures_of(const Accounts& accounts) {
  std::vector<double> figures;
  for (UserId user : ids<UserId>(accounts.due().users())) {
    for (GpuTypeId type : ids<GpuTypeId>(accounts.due().types())) {
      figures.insert(figures.end(),
                     {accounts.due().base().of(user, type), accounts.due().traded(user, type),
                      accounts.due().share(user, type), accounts.due().worth(user, type),
                      accounts.ledger().debt(user), accounts.ledger().debt(user, type),
                      accounts.ledger().correction(user), accounts.due().of_job(user, type, 8)});
    }
  }
  return figures;
}

RC_GTEST_PROP(Accounts, AreSavedAndLoadedAtAnyMoment, ()) {
  const auto tickets = drawn_tickets();
  const std::string_view policy =
      *rc::gen::inRange(0, 4) != 0 ? "gandiva-fair" : "gandiva-fair:tickets=equal";
  Books plain(kThreeTypes, tickets, ledger_options(policy), entitlement_options(policy));
  Books first(kThreeTypes, tickets, ledger_options(policy), entitlement_options(policy));
  auto reloaded = std::make_unique<Accounts>(first.accounts);
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  Happenings world(tickets.size(), seed);
  Happenings same_world(tickets.size(), seed);
  Rng moments(seed);
  for (int step = 0; step < 60; ++step) {
    world.happen(plain.accounts);
    same_world.happen(*reloaded);
    RC_ASSERT(figures_of(plain.accounts) == figures_of(*reloaded));
    if (moments.below(3) != 0) continue;
    Writer writer;
    save(*reloaded, writer);
    reloaded = std::make_unique<Accounts>(entitlement_options(policy), ledger_options(policy));
    Reader reader(writer.bytes());
    load(*reloaded, reader);
    RC_ASSERT(reader.ok());
    RC_ASSERT(reader.left() == 0U);
    reloaded->begin(first.users, first.cluster);
  }
}

TEST(Accounts, OfAUserThatIsAwayAreSavedToo) {
  // The earlier GPUs of a user have no effect when it comes back, saved or not.
  const auto after = [](bool is_saved) {
    Books books("2xV100:4", {1, 1});
    books.add(kBen, kFast, 1, 8);
    books.add(kAnn, kFast, 8);
    books.accounts.update({0});
    books.accounts.drop(kAnn, kFast, 8);
    books.accounts.add_demand(kAnn, -8);
    Accounts loaded(entitlement_options(), ledger_options());
    if (is_saved) {
      Writer writer;
      save(books.accounts, writer);
      Reader reader(writer.bytes());
      load(loaded, reader);
      loaded.begin(books.users, books.cluster);
    }
    Accounts& accounts = is_saved ? loaded : books.accounts;
    accounts.add_demand(kAnn, 1);
    accounts.keep(kAnn, kFast, 1);
    accounts.update({60'000});
    accounts.add_allocated({60'000}, kBen, kFast, 8);
    accounts.update({3'660'000});
    return accounts.ledger().debt(kAnn);
  };
  EXPECT_EQ(after(true), after(false));
}

TEST(Accounts, RefuseDamagedBytes) {
  Books books("2xV100:4,1xK80:4", {1, 1});
  books.add(kAnn, kFast, 2);
  books.add(kBen, kSlow, 1, 3);
  books.accounts.update({0});
  Writer writer;
  save(books.accounts, writer);
  for (std::size_t size = 0; size < writer.bytes().size(); ++size) {
    Reader reader({writer.bytes().data(), size});
    load(Accounts(entitlement_options(), ledger_options()), reader);
    EXPECT_FALSE(reader.ok()) << size << " of " << writer.bytes().size() << " bytes";
  }
}

RC_GTEST_PROP(Accounts, FollowTheRatioOfTicketsAndNotTheirNumber, ()) {
  const auto tickets = drawn_tickets();
  std::vector<std::int64_t> scaled = tickets;
  for (std::int64_t& each : scaled) each *= 1024;  // a power of two: exact
  Books books(kThreeTypes, tickets, ledger_options());
  Books large(kThreeTypes, scaled, ledger_options());
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  Happenings world(tickets.size(), seed);
  Happenings same_world(tickets.size(), seed);
  for (int step = 0; step < 40; ++step) {
    world.happen(books.accounts);
    same_world.happen(large.accounts);
    RC_ASSERT(figures_of(books.accounts) == figures_of(large.accounts));
  }
}

}  // namespace
}  // namespace fairlead
