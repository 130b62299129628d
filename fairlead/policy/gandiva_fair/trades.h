// Trades: when users trade fast GPUs for slow ones, and on which speeds (Gandiva_fair).
//
// A user's speed on a type is the mean, weighted by GPUs, over its kept jobs with known speeds on
// all types. A user without such jobs does not trade. The trades also set the order of the
// types: by the sum, over users, of the speed on the type relative to the user's fastest.
//
// solve/trading.h makes the trades; they change Entitlements.
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

  // Trades if a trade is due, and notes the terms. REQUIRES: the accounts are up to date. O(jobs
  // kept x types), and the trades.
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
