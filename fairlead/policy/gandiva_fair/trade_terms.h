// TradeTerms: the terms of the last trade: for each user and type, its share after the trade / before (Gandiva_fair).
//
// Ratios stay between trades, so that arriving and leaving users change the base and not the terms. A user does not trade if
// its base is all of its demand, because more and slower GPUs are of no use to it. A user with a quota does not trade
// either, because it may not have more GPUs. solve/trading.h has the rules of price.
//
// trade: as Trading::trade, over the active users; no allocation once warm. All else O(1), or O(types).
#pragma once

#include "fairlead/base/archive.h"
#include "fairlead/policy/gandiva_fair/base_shares.h"
#include "fairlead/policy/gandiva_fair/by_user_and_type.h"
#include "fairlead/policy/gandiva_fair/demand.h"
#include "fairlead/policy/gandiva_fair/user_groups.h"
#include "fairlead/solve/trading.h"

#include <span>
#include <vector>

namespace fairlead {

class TradeTerms {
 public:
  explicit TradeTerms(TradePrice price) : price_(price) {}

  // REQUIRES: no fewer users than before, and as many types.
  void resize(std::size_t users, std::size_t types) { ratio_.resize(users, types, 1); }

  // Trades by each user's speed on each type, user by user (0: unknown), and sets the ratios. Returns the trades in order,
  // valid until the next call; their rows are the rows of demand.active(). REQUIRES: the base is up to date.
  std::span<const Trade> trade(const BaseShares& base, const Demand& demand,
                               const UserGroups& groups, std::span<const double> speeds);
  // Returns traded / base of the user on the type after the last trade; 1 if it took no part.
  double ratio(UserId user, GpuTypeId type) const { return ratio_(user, type); }
  // Forgets a user that is not active any more.
  void forget(UserId user);

  // Archives the terms of one user on one type.
  void fields_of(Archive& archive, UserId user, GpuTypeId type) { archive(ratio_(user, type)); }

 private:
  const TradePrice price_;
  ByUserAndType<double> ratio_;

  // Workspace; rows are the active users.
  Trading trading_;
  std::vector<Trade> trades_;
  std::vector<double> speeds_;    // type by type
  std::vector<double> entitled_;  // as speeds_
  std::vector<double> most_;      // demand
};

}  // namespace fairlead
