// Ledger: how far each user is behind, or ahead of, its due (Gandiva_fair; ours).
//
// A user's debt is the GPUs that it was due less the GPUs that its jobs had, summed over time. Each
// GPU counts by its worth to the user, whatever its type. The debt makes independent nodes fair to
// a user in sum: a user that is kept from its part of one type gets more of another. A second debt
// exists for each type: the user's share of the type less the GPUs its jobs had there. It only
// decides where a user is served first, so that equal users have equal parts of each type.
// Three rules, each a function of its own:
//   idle time   GPU time that no user received causes no debt: the sum of all debts is always 0,
//               and so is the sum for each type.
//   bound       a debt that an hour could not pay is forgotten: it comes from unservable demand.
//   correction  a factor on the user's due of each type, such that its debt would be paid
//               within the horizon. No user stays nearer to its due than half a turn of its largest
//               gang, so that part is not corrected. With several types, half a quantum of the due
//               is not corrected either, because turns then follow the debt on each type as well.
//
// The dues of users are read from the entitlements that are passed; pass the same ones each time. A
// change of the GPUs of a user is settled at its time; for a change of entitlements call settle()
// just before.
//
// settle, correct, forgive: O(users with jobs x types). All else O(types).
#pragma once

#include "fairlead/base/archive.h"
#include "fairlead/base/units.h"
#include "fairlead/policy/gandiva_fair/by_user_and_type.h"
#include "fairlead/policy/gandiva_fair/entitlements.h"

#include <cstdint>

namespace fairlead {

struct LedgerOptions {
  bool corrects;  // false: debts are kept, but neither bounded nor turned into corrections
  Duration quantum;
  Duration horizon;  // time within which a debt would be paid
};

class Ledger {
 public:
  explicit Ledger(const LedgerOptions& options) : options_(options) {}

  // Makes rows for that many users. REQUIRES: no fewer than before, and as many types.
  void resize(std::size_t users, std::size_t types);

  // Adds (negative: subtracts) GPUs of the type that the user has.
  void add_allocated(const Entitlements& due, Time now, UserId user, GpuTypeId type,
                     std::int64_t gpus);
  // Charges the user for GPU-milliseconds of the type that it took outside of its jobs.
  void charge(const Entitlements& due, UserId user, GpuTypeId type, double gpu_ms);
  // Updates all debts to now. REQUIRES: the dues are still the dues of the time since the last
  // call.
  void settle(const Entitlements& due, Time now);
  // Bounds debts and sets corrections by the present dues.
  void correct(const Entitlements& due);
  // Forgets all debts: the ledger starts again.
  void forgive(const Entitlements& due, Time now);
  // Forgets a user whose last job ended. REQUIRES: it has no GPUs.
  void forget(UserId user);

  // Returns the GPU-milliseconds that the user is behind; negative: ahead.
  double debt(UserId user) const { return accounts_[user].debt; }
  // Returns the GPU-milliseconds of the type that the user is behind its share.
  double debt(UserId user, GpuTypeId type) const { return parts_(user, type).debt; }
  // Returns the factor, 1/2 to 2, on the user's part of each type that pays its debt.
  double correction(UserId user) const { return accounts_[user].correction; }
  // Returns the GPUs of all types that the user has.
  std::int64_t allocated(UserId user) const;

  // REQUIRES: no function was called before.
  void fields(Archive& archive);

 private:
  struct Account {
    double debt = 0;  // up to `since`
    double correction = 1;
    Time since{};
    void fields(Archive& archive) { archive(debt, correction, since); }
  };
  // The account of one user on one type.
  struct Part {
    std::int64_t allocated = 0;
    double debt = 0;  // up to `since` of the account
    void fields(Archive& archive) { archive(allocated, debt); }
  };

  void settle(const Entitlements& due, UserId user, Time now);
  void forgive_idle_time(const Entitlements& due);
  void bound(const Entitlements& due, UserId user);
  double correction_for(const Account& account, double due, double gang) const;

  const LedgerOptions options_;
  IdVector<UserId, Account> accounts_;
  ByUserAndType<Part> parts_;
};

}  // namespace fairlead
