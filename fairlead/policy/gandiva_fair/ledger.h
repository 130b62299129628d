// Ledger: who is behind, and who is ahead, of what it is due (Gandiva_fair; ours).
//
// Per user it keeps a debt: the GPUs that it was due less those that it held, over time, each counted
// as what it is worth to the user, whatever its type. That is how nodes that know nothing of each
// other serve a user fairly in sum, and how one that is kept from its part of one type gets more of
// another. Beside it stands a debt for each type: the user's share of the type less what it held there.
// It only says where the user is rather served, so that equal users have equal parts of each type.
// Three rules, each a function of its own:
//   idle time   what no user received is no user's debt: all debts together are always 0, and those
//               for each type
//   bound       what an hour could not pay is forgotten: it comes from what cannot be served
//   correction  a debt as a factor on what the user is due of each type, such that it would be paid
//               within the horizon; none for the half of a turn of its largest gang by which a user
//               is ahead and behind in turns anyway, and where there are several types for half a
//               quantum of what it is due, as turns are then given by the debt on each type as well
//
// What a user is due is read from the entitlements that are passed, the same each time. A change of
// what it holds is settled at its moment, a change of entitlements by settle() just before.
//
// settle, correct, forgive: O(users with jobs x types). All else O(types).
#pragma once

#include "fairlead/base/archive.h"
#include "fairlead/base/units.h"
#include "fairlead/policy/gandiva_fair/entitlements.h"

#include <cstdint>
#include <vector>

namespace fairlead {

struct LedgerOptions {
  bool corrects;  // false: debts are kept, and neither bounded nor turned into corrections
  Duration quantum;
  Duration horizon;  // within which a debt would be paid
};

class Ledger {
 public:
  explicit Ledger(const LedgerOptions& options) : options_(options) {}

  // Makes rows for so many users. REQUIRES: no fewer than before, and as many types.
  void resize(std::size_t users, std::size_t types);

  // The user holds so many GPUs of the type more, or less.
  void add_held(const Entitlements& due, Time now, UserId user, GpuTypeId type, std::int64_t gpus);
  // Brings all debts up to now. REQUIRES: dues are still those of the time since it was called.
  void settle(const Entitlements& due, Time now);
  // Bounds debts and sets corrections by the dues as they are now.
  void correct(const Entitlements& due);
  // Forgets all debts: the ledger begins anew.
  void forgive(const Entitlements& due, Time now);
  // The user has no job any more. REQUIRES: it holds nothing.
  void forget(UserId user);

  // GPU-milliseconds that the user is behind; negative: ahead.
  double debt(UserId user) const { return accounts_[user].debt; }
  // Those of the type that it is behind its share.
  double debt(UserId user, GpuTypeId type) const { return part(user, type).debt; }
  // What the user's part of each type is multiplied by to pay its debt, 1/2 to 2.
  double correction(UserId user) const { return accounts_[user].correction; }
  // GPUs that the user holds, of all types.
  std::int64_t held(UserId user) const;

  // REQUIRES: nothing was called before.
  void fields(Archive& archive);

 private:
  struct Account {
    double debt = 0;  // up to `since`
    double correction = 1;
    Time since{};
    void fields(Archive& archive) { archive(debt, correction, since); }
  };
  // Of one user on one type.
  struct Part {
    std::int64_t held = 0;
    double debt = 0;  // up to `since` of the account
    void fields(Archive& archive) { archive(held, debt); }
  };

  Part& part(UserId user, GpuTypeId type) { return parts_[user.row() * types_ + type.row()]; }
  const Part& part(UserId user, GpuTypeId type) const {
    return parts_[user.row() * types_ + type.row()];
  }
  void settle(const Entitlements& due, UserId user, Time now);
  void forgive_idle_time(const Entitlements& due);
  void bound(const Entitlements& due, UserId user);
  double correction_for(const Account& account, double due, double gang) const;

  const LedgerOptions options_;
  std::size_t types_ = 0;
  IdVector<UserId, Account> accounts_;
  std::vector<Part> parts_;  // user by user
};

}  // namespace fairlead
