#include "fairlead/policy/gandiva_fair/trade_terms.h"

namespace fairlead {

std::span<const Trade> TradeTerms::trade(const BaseShares& base, const Demand& demand,
                                         const UserGroups& groups, std::span<const double> speeds) {
  const std::size_t types = ratio_.types();
  const std::span<const UserId> active = demand.active();
  speeds_.clear();
  entitled_.clear();
  most_.clear();
  for (UserId user : active) {
    const auto most = static_cast<double>(demand.of(user));
    most_.push_back(most);
    for (GpuTypeId type : ids<GpuTypeId>(types)) entitled_.push_back(base.of(user, type));
    const bool may_trade = base.of(user) < most * (1 - 1e-9) && !groups.has_quota(user);
    for (std::size_t type = 0; type < types; ++type) {
      speeds_.push_back(may_trade ? speeds[user.row() * types + type] : 0);
    }
  }
  trades_.clear();
  trading_.trade(types, speeds_, entitled_, most_, price_, trades_);
  for (std::size_t i = 0; i < active.size(); ++i) {
    for (GpuTypeId type : ids<GpuTypeId>(types)) {
      const double before = base.of(active[i], type);
      ratio_(active[i], type) = before > 0 ? entitled_[i * types + type.row()] / before : 1;
    }
  }
  return trades_;
}

void TradeTerms::forget(UserId user) {
  for (GpuTypeId type : ids<GpuTypeId>(ratio_.types())) ratio_(user, type) = 1;
}

}  // namespace fairlead
