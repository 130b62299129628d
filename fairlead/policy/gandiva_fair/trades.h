// Trades: when users trade fast GPUs for slow ones, and on which speeds (Gandiva_fair).
//
// A user's speed on a type is the mean over its kept jobs, weighted by GPUs, of those whose speeds are
// known on all types; until there are any it does not trade. With the trades goes the order of the
// types: by the sum over users of the speed there relative to the user's own fastest.
//
// How trades are made is solve/trading.h; what they change, Entitlements.
#pragma once

#include "fairlead/base/archive.h"
#include "fairlead/policy/gandiva_fair/accounts.h"
#include "fairlead/policy/gandiva_fair/homes.h"

#include <vector>

namespace fairlead {

class Trades {
 public:
  struct Options {
    bool trade;  // false: only types are ordered
    Duration interval;
  };

  // Both must outlive it.
  Trades(const Options& options, const Homes& homes, Accounts& accounts)
      : options_(options), homes_(homes), accounts_(accounts) {}

  // Trades if it is time, and notes the terms. REQUIRES: the accounts are up to date.
  // O(jobs kept x types), and the trades.
  void trade_if_due(const View& view, Plan& plan);

  void fields(Archive& archive) { archive(next_); }

 private:
  void find_speeds(const View& view);
  double add_speeds(const View& view, JobId job, double* speeds);
  void order_types();
  void note_trades(std::span<const Trade> trades, Plan& plan) const;

  const Options options_;
  const Homes& homes_;
  Accounts& accounts_;
  Time next_;

  // Workspace.
  std::vector<double> speeds_;  // by user and type
  std::vector<double> scores_;  // by type
  std::vector<GpuTypeId> types_;
};

}  // namespace fairlead
