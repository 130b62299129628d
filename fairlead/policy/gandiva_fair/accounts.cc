#include "fairlead/policy/gandiva_fair/accounts.h"

#include <algorithm>

namespace fairlead {

void Accounts::begin(const Users& users, const Cluster& cluster) {
  due_.begin(users, cluster);
  ledger_.resize(due_.users(), due_.types());
}

void Accounts::set_tickets(const Users& users) {
  due_.set_tickets(users);
  ledger_.resize(due_.users(), due_.types());
}

void Accounts::add_demand(UserId user, std::int64_t gpus) {
  due_.add_demand(user, gpus);
  if (due_.demand().of(user) == 0) ledger_.forget(user);
}

void Accounts::update(Time now) {
  ledger_.settle(due_, now);
  due_.update_dues();
  ledger_.correct(due_);
  for (UserId user : due_.demand().active()) due_.correct(user, ledger_.correction(user));
  due_.update();
}

std::span<const Trade> Accounts::trade(std::span<const double> speeds) {
  return due_.trade(speeds);
}

double Accounts::tickets_of_job(UserId user, GpuTypeId type, std::uint32_t gpus) const {
  constexpr double kLeast = 0.001;  // fraction of the time
  constexpr double kUntilKnown = 0.25;
  if (due_.base().of(user) == 0) return kUntilKnown * gpus;
  return std::max(kLeast * gpus, due_.of_job(user, type, gpus));
}

void Accounts::fields(Archive& archive) { archive(due_, ledger_); }

}  // namespace fairlead
