// Accounts: the dues of users and the GPUs they had, kept in step (Gandiva_fair).
//
// Entitlements has the dues; the ledger has the debts. Both are read through due() and ledger().
// The facts of the world are reported here. So no share changes before the time under it is
// settled, and no debt outlives the jobs that it is about.
//
// update: O(users with jobs x types), and a logarithm; set_speeds and trade: as in Entitlements;
// everything else O(1) or O(types).
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

  // Sizes the columns. To be called again when there are more users.
  void begin(const Users& users, const Cluster& cluster);
  // To be called when a user is new or its tickets changed.
  void set_tickets(const Users& users);

  // The facts. Shares change at the next update().
  void set_capacity(GpuTypeId type, std::int64_t gpus) { due_.set_capacity(type, gpus); }
  // Adds (negative: removes) an unfinished job of `gpus` to the user's demand.
  void add_demand(UserId user, std::int64_t gpus);
  // Called when a job of the user starts, or stops, being kept on the type.
  void keep(UserId user, GpuTypeId type, std::uint32_t gpus) { due_.keep(user, type, gpus); }
  void drop(UserId user, GpuTypeId type, std::uint32_t gpus) { due_.drop(user, type, gpus); }
  // Adds (negative: subtracts) GPUs of the type that the user has.
  void add_allocated(Time now, UserId user, GpuTypeId type, std::int64_t gpus) {
    ledger_.add_allocated(due_, now, user, type, gpus);
  }

  // Charges the user for GPU time that it took outside of its jobs.
  void charge(UserId user, GpuTypeId type, GpuTime attained) {
    ledger_.charge(due_, user, type, static_cast<double>(attained.gpu_ms));
  }

  // Settles the ledger, and updates the shares to the facts.
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

  // Returns the tickets of a job of the user that is kept on the type: the GPUs that it is due, and
  // a little at least. A user without a due can so take GPUs that no other needs.
  double tickets_of_job(UserId user, GpuTypeId type, std::uint32_t gpus) const;

  // REQUIRES: no function was called before, and begin() is next, because groups are not saved.
  void fields(Archive& archive);

 private:
  Entitlements due_;
  Ledger ledger_;
};

}  // namespace fairlead
