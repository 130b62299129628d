#include "fairlead/policy/gandiva_fair/ledger.h"

#include <algorithm>
#include <cmath>

namespace fairlead {

void Ledger::resize(std::size_t users, std::size_t types) {
  accounts_.resize(users);
  parts_.resize(users, types);
}

std::int64_t Ledger::allocated(UserId user) const {
  std::int64_t gpus = 0;
  for (GpuTypeId type : ids<GpuTypeId>(parts_.types())) gpus += parts_(user, type).allocated;
  return gpus;
}

void Ledger::settle(const Entitlements& due, UserId user, Time now) {
  Account& account = accounts_[user];
  const auto time = static_cast<double>((now - account.since).ms);
  double had = 0;
  for (GpuTypeId type : ids<GpuTypeId>(parts_.types())) {
    Part& on_type = parts_(user, type);
    const auto allocated = static_cast<double>(on_type.allocated);
    had += allocated * due.worth(user, type);
    on_type.debt += (due.share(user, type) - allocated) * time;
  }
  account.debt += (due.due(user) - had) * time;
  account.since = now;
}

void Ledger::add_allocated(const Entitlements& due, Time now, UserId user, GpuTypeId type,
                           std::int64_t gpus) {
  settle(due, user, now);
  parts_(user, type).allocated += gpus;
}

void Ledger::charge(const Entitlements& due, UserId user, GpuTypeId type, double gpu_ms) {
  accounts_[user].debt -= gpu_ms * due.worth(user, type);
  parts_(user, type).debt -= gpu_ms;
}

void Ledger::settle(const Entitlements& due, Time now) {
  for (UserId user : due.demand().active()) settle(due, user, now);
  forgive_idle_time(due);
}

void Ledger::forgive_idle_time(const Entitlements& due) {
  double debts = 0;
  double dues = 0;
  for (UserId user : due.demand().active()) {
    debts += accounts_[user].debt;
    dues += due.due(user);
  }
  if (dues <= 0) return;
  for (UserId user : due.demand().active()) accounts_[user].debt -= due.due(user) * (debts / dues);
  for (GpuTypeId type : ids<GpuTypeId>(parts_.types())) {
    debts = dues = 0;
    for (UserId user : due.demand().active()) {
      debts += parts_(user, type).debt;
      dues += due.share(user, type);
    }
    if (dues <= 0) continue;
    for (UserId user : due.demand().active())
      parts_(user, type).debt -= due.share(user, type) * (debts / dues);
  }
}

void Ledger::correct(const Entitlements& due) {
  if (!options_.corrects) return;
  for (UserId user : due.demand().active()) {
    bound(due, user);
    Account& account = accounts_[user];
    account.correction = correction_for(account, due.due(user), due.kept().largest(user));
  }
}

void Ledger::bound(const Entitlements& due, UserId user) {
  constexpr double kMost = 3'600'000;  // ms
  const double gang = due.kept().largest(user);
  const auto bounded = [&](double debt, double gpus) {
    const double most = (gpus + gang) * kMost;
    return std::clamp(debt, -most, most);
  };
  accounts_[user].debt = bounded(accounts_[user].debt, due.due(user));
  for (GpuTypeId type : ids<GpuTypeId>(parts_.types())) {
    Part& on_type = parts_(user, type);
    on_type.debt = bounded(on_type.debt, due.share(user, type));
  }
}

double Ledger::correction_for(const Account& account, double due, double gang) const {
  constexpr double kMost = 2;
  if (due <= 0) return 1;
  const double turn = parts_.types() == 1 ? gang : gang + due;
  const double swing = turn * static_cast<double>(options_.quantum.ms) / 2;
  const double beyond = std::copysign(std::max(0.0, std::abs(account.debt) - swing), account.debt);
  return std::clamp(1 + beyond / (due * static_cast<double>(options_.horizon.ms)), 1 / kMost,
                    kMost);
}

void Ledger::forgive(const Entitlements& due, Time now) {
  for (UserId user : due.demand().active()) {
    accounts_[user] = {.since = now};
    for (GpuTypeId type : ids<GpuTypeId>(parts_.types())) parts_(user, type).debt = 0;
  }
}

void Ledger::forget(UserId user) {
  FL_CHECK(allocated(user) == 0, "user {} left and has GPUs", user.row());
  accounts_[user] = {};
  for (GpuTypeId type : ids<GpuTypeId>(parts_.types())) parts_(user, type) = {};
}

void Ledger::fields(Archive& archive) {
  std::uint64_t users = accounts_.size();
  std::uint64_t types = parts_.types();
  archive.size(users);
  archive(types);
  archive.expect(types <= kGpuTypesMax);
  if (!archive.ok()) return;
  if (archive.reads()) resize(users, types);
  archive.sized(accounts_, users);
  archive.sized(parts_.values(), users * types);
}

}  // namespace fairlead
