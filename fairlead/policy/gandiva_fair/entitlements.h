// Entitlements: the GPUs of each type that each user is due (Gandiva_fair).
//
// From the outside in:
//   base     each GPU type is shared among users by tickets (base_shares.h).
//   traded   base after trading fast for slow GPUs, by the terms of the last trade (trade_terms.h).
//   due      traded, summed over all types: the ledger compares it with the GPUs that a user had.
//   worth    the value of a GPU of a type to the user: its speed on the type, relative to the mean
//            over the GPUs it is due. It is 1 if users do not trade, because users are then
//            promised GPUs; if they trade, throughput.
//   share    the user's GPUs of a type now. The type is filled with traded entitlements, corrected
//            by debts, as tickets. Each user is capped at its gangs kept there, so that nothing
//            stays unused.
//   of_job   the user's share divided equally among its jobs on the type, each capped at its gang.
//
// The facts that they follow from are parts: demand(), groups() and kept(). They change by functions
// here, because results follow at the next update().
//
// update() costs O(users with jobs x types), and a logarithm; everything else O(1) or O(gang
// sizes).
#pragma once

#include "fairlead/base/archive.h"
#include "fairlead/model/jobs.h"
#include "fairlead/policy/gandiva_fair/base_shares.h"
#include "fairlead/policy/gandiva_fair/by_user_and_type.h"
#include "fairlead/policy/gandiva_fair/demand.h"
#include "fairlead/policy/gandiva_fair/kept_gangs.h"
#include "fairlead/policy/gandiva_fair/trade_terms.h"
#include "fairlead/policy/gandiva_fair/user_groups.h"
#include "fairlead/solve/filling.h"

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace fairlead {

struct EntitlementOptions {
  bool filling;  // false: the tickets of every active user count alike, whatever its demand
  TradePrice price;
};

class Entitlements {
 public:
  explicit Entitlements(const EntitlementOptions& options)
      : fills_(options.filling), terms_(options.price) {}

  // Sizes the columns. To be called again when there are more users.
  void begin(const Users& users, const Cluster& cluster);
  // To be called when a user or group is new, or the tickets of a user changed.
  void set_tickets(const Users& users);

  // The facts. They count from the next update().
  void set_capacity(GpuTypeId type, std::int64_t gpus);
  // Adds (negative: removes) an unfinished job of `gpus` to the user's demand.
  void add_demand(UserId user, std::int64_t gpus);
  // Called when a job of the user starts, or stops, being kept on the type.
  void keep(UserId user, GpuTypeId type, std::uint32_t gpus);
  void drop(UserId user, GpuTypeId type, std::uint32_t gpus);

  // Types by mean speed, fastest first; the order in which base is filled. O(types).
  void set_type_order(std::span<const GpuTypeId> fastest_first);
  // Multiplies the user's part of each type in its share; 1 by default. From the next update().
  void correct(UserId user, double factor);
  // Sets the speeds that determine the worth of GPUs to users, user by user and type by type (0:
  // unknown). From the next update().
  void set_speeds(std::span<const double> speeds);
  // Updates base, traded, due and worth to the facts.
  void update_dues();
  // Updates everything to the facts and corrections.
  void update();
  // Trades (trade_terms.h) and updates everything to the new terms. REQUIRES: update() was called just
  // before.
  std::span<const Trade> trade(std::span<const double> speeds);

  std::size_t users() const { return tickets_.size(); }
  std::size_t types() const { return pools_.types(); }
  const Demand& demand() const { return demand_; }
  const UserGroups& groups() const { return groups_; }
  const KeptGangs& kept() const { return kept_; }
  const BaseShares& base() const { return base_; }
  double traded(UserId user, GpuTypeId type) const { return pools_(user, type).traded; }
  double due(UserId user) const { return due_[user]; }
  double worth(UserId user, GpuTypeId type) const { return pools_(user, type).worth; }
  // Returns true if the due covers the whole demand of its unfinished jobs.
  bool has_all(UserId user) const {
    return due_[user] >= static_cast<double>(demand_.of(user)) * (1 - 1e-9);
  }
  double share(UserId user, GpuTypeId type) const { return pools_(user, type).share; }
  // Returns the GPUs that a job of `gpus` GPUs of the user is due on the type.
  double of_job(UserId user, GpuTypeId type, std::uint32_t gpus) const {
    const Pool& p = pools_(user, type);
    return fills_ ? std::min(static_cast<double>(gpus), p.level) : p.level;
  }
  // Returns true if the share changed by more than a hundredth, and a thousandth of a GPU, since
  // the last call that returned true. Before that, since zero.
  bool take_news(UserId user, GpuTypeId type);

  // REQUIRES: no function was called before, and begin() is next, because groups are not saved.
  void fields(Archive& archive);

 private:
  // The results for one user on one type.
  struct Pool {
    double traded = 0;
    double speed = 0;  // 0: not known
    double worth = 1;
    double share = 0;
    double level = 0;  // level of share among jobs
    double told = 0;   // share at the last take_news() that returned true
    void fields(Archive& archive) { archive(traded, speed, worth, share, level, told); }
  };

  void size_columns(std::size_t users, std::size_t types);
  void set_groups(const Users& users);
  void apply_trades();
  void set_worth(UserId user);
  void fill_shares();
  void fill_shares_of(GpuTypeId type);
  void forget(UserId user);

  const bool fills_;  // EntitlementOptions::filling
  IdVector<UserId, std::int64_t> tickets_;
  Demand demand_;
  KeptGangs kept_;
  UserGroups groups_;
  BaseShares base_;
  TradeTerms terms_;
  IdVector<UserId, double> due_;
  IdVector<UserId, double> factor_;  // see correct()
  ByUserAndType<Pool> pools_;
  bool stale_ = true;         // a fact changed since the last update
  bool shares_stale_ = true;  // or a correction

  // Workspace.
  ProgressiveFilling filling_;
  std::vector<UserId> rows_;  // users of the columns below
  std::vector<double> weights_;
  std::vector<double> caps_;
  std::vector<double> filled_;
};

}  // namespace fairlead
