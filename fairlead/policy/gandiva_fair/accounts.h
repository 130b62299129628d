// Accounts: what users are due and what they have had, kept in step (Gandiva_fair).
//
// Entitlements say who is due what, the ledger who is behind. Both are read as they are, by due() and
// ledger(); the facts of the world are told here, so that no share changes before the time under
// it is settled, and no debt outlives the jobs that it is about.
//
// update: O(users with jobs x types), and a logarithm; everything else O(1) or O(types), but
// set_speeds and trade.
#pragma once

#include "fairlead/policy/gandiva_fair/entitlements.h"
#include "fairlead/policy/gandiva_fair/ledger.h"

#include <cstdint>
#include <span>

namespace fairlead {

class Accounts {
 public:
  Accounts(const EntitlementOptions& entitlements, const LedgerOptions& ledger)
      : due_(entitlements), ledger_(ledger) {}

  const Entitlements& due() const { return due_; }
  const Ledger& ledger() const { return ledger_; }

  // Sizes the columns, and again when there are more users.
  void begin(const Users& users, const Cluster& cluster);
  // Some user has other tickets than before, or is new.
  void set_tickets(const Users& users);

  // The facts; shares follow at the next update().
  void set_capacity(GpuTypeId type, std::int64_t gpus) { due_.set_capacity(type, gpus); }
  // The user has an unfinished job of `gpus` more, or less (negative).
  void add_demand(UserId user, std::int64_t gpus);
  // A job of the user is kept on the type from now on, or no longer.
  void keep(UserId user, GpuTypeId type, std::uint32_t gpus) { due_.keep(user, type, gpus); }
  void drop(UserId user, GpuTypeId type, std::uint32_t gpus) { due_.drop(user, type, gpus); }
  // The user holds so many GPUs of the type more, or less.
  void add_held(Time now, UserId user, GpuTypeId type, std::int64_t gpus) {
    ledger_.add_held(due_, now, user, type, gpus);
  }

  // Settles the ledger, and brings shares up to date with the facts.
  void update(Time now);
  // Forgets all debts.
  void forgive(Time now) { ledger_.forgive(due_, now); }
  // See Entitlements.
  void set_type_order(std::span<const GpuTypeId> fastest_first) {
    due_.set_type_order(fastest_first);
  }
  void set_speeds(std::span<const double> speeds) { due_.set_speeds(speeds); }
  // REQUIRES: update() was called just before.
  std::span<const Trade> trade(std::span<const double> speeds);
  bool take_news(UserId user, GpuTypeId type) { return due_.take_news(user, type); }

  // The tickets of a job of the user that is kept on the type: the GPUs that it is due; a little at
  // least, as who is due nothing still takes what no other wants.
  double tickets_of_job(UserId user, GpuTypeId type, std::uint32_t gpus) const;

  // REQUIRES: nothing was called before, and begin() is next: groups are not saved.
  void fields(Archive& archive);

 private:
  Entitlements due_;
  Ledger ledger_;
};

}  // namespace fairlead
