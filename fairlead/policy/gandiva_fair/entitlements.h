// Entitlements: the GPUs of each type that each user is due (Gandiva_fair).
//
// From the outside in:
//   base     each GPU type is shared among users by tickets (progressive filling), the fastest type
//            first. Each user is capped at the rest of the demand of its unfinished jobs. Groups,
//            if there are any, share first, each capped at its quota, then each group's users.
//   traded   base after trading fast for slow GPUs. Between trades it is a ratio to base, so that
//            arriving and leaving users change the base and not the terms of the last trade.
//   due      traded, summed over all types: the ledger compares it with the GPUs that a user had.
//   worth    the value of a GPU of a type to the user: its speed on the type, relative to the mean
//            over the GPUs it is due. It is 1 if users do not trade, because users are then
//            promised GPUs; if they trade, throughput.
//   share    the user's GPUs of a type now. The type is filled with traded entitlements, corrected
//            by debts, as tickets. Each user is capped at its gangs kept there, so that nothing
//            stays unused.
//   of_job   the user's share divided equally among its jobs on the type, each capped at its gang.
//
// update() costs O(users with jobs x types), and a logarithm; everything else O(1) or O(gang
// sizes).
#pragma once

#include "fairlead/base/archive.h"
#include "fairlead/model/jobs.h"
#include "fairlead/solve/filling.h"
#include "fairlead/solve/grouped_filling.h"
#include "fairlead/solve/trading.h"

#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace fairlead {

struct EntitlementOptions {
  bool filling;  // false: the tickets of every active user count alike, whatever its demand
  TradePrice price;
};

class Entitlements {
 public:
  explicit Entitlements(const EntitlementOptions& options) : options_(options) {}

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
  // Trades on the basis of each user's speed on each type, user by user (0: unknown), and keeps the
  // terms until the next call. Returns the trades in order; their rows are the rows of active().
  // REQUIRES: update() was called just before.
  std::span<const Trade> trade(std::span<const double> speeds);

  std::size_t users() const { return tickets_.size(); }
  std::size_t types() const { return types_; }
  // The users with unfinished jobs, in no useful order.
  std::span<const UserId> active() const { return active_; }
  std::int64_t demand(UserId user) const { return demand_[user]; }
  std::int64_t kept(UserId user) const { return kept_all_[user]; }
  std::int64_t kept(UserId user, GpuTypeId type) const { return pool(user, type).kept; }
  std::int64_t tickets(UserId user) const { return tickets_[user]; }
  bool has_quota(UserId user) const {
    return group_[user] != kNoGroup && quota_[group_[user]] != kNoQuota;
  }
  // Returns true if both users have the same group, and it has a quota.
  bool share_quota(UserId a, UserId b) const { return group_[a] == group_[b] && has_quota(a); }
  // Returns the GPUs that the user's kept jobs may have at most: its group's quota less the GPUs of
  // the group's other users.
  double room(UserId user) const;
  double base(UserId user, GpuTypeId type) const { return pool(user, type).base; }
  double base(UserId user) const;  // sum over all types
  double traded(UserId user, GpuTypeId type) const { return pool(user, type).traded; }
  double due(UserId user) const { return due_[user]; }
  double worth(UserId user, GpuTypeId type) const { return pool(user, type).worth; }
  // Returns true if the due covers the whole demand of its unfinished jobs.
  bool has_all(UserId user) const {
    return due_[user] >= static_cast<double>(demand_[user]) * (1 - 1e-9);
  }
  double share(UserId user, GpuTypeId type) const { return pool(user, type).share; }
  // Returns the GPUs that a job of `gpus` GPUs of the user is due on the type.
  double of_job(UserId user, GpuTypeId type, std::uint32_t gpus) const {
    const Pool& p = pool(user, type);
    return options_.filling ? std::min(static_cast<double>(gpus), p.level) : p.level;
  }
  // Returns the GPUs of the largest job that the user keeps; 0 if it keeps none.
  std::uint32_t largest_gang(UserId user) const;

  // Returns true if the share changed by more than a hundredth, and a thousandth of a GPU, since
  // the last call that returned true. Before that, since zero.
  bool take_news(UserId user, GpuTypeId type);

  // REQUIRES: no function was called before, and begin() is next, because groups are not saved.
  void fields(Archive& archive);

 private:
  static constexpr std::uint32_t kNoGroup = GroupedClaims::kNoGroup;
  static constexpr double kNoQuota = std::numeric_limits<double>::max();

  // The account of one user on one type.
  struct Pool {
    std::int64_t kept = 0;                                        // GPUs of the jobs kept there
    std::int64_t jobs = 0;                                        // and their number
    std::vector<std::pair<std::uint32_t, std::int64_t>> gangs{};  // sizes, increasing: how many
    double base = 0;
    double ratio = 1;  // traded / base after the last trade
    double traded = 0;
    double speed = 0;  // 0: not known
    double worth = 1;
    double share = 0;
    double level = 0;  // level of share among jobs
    double told = 0;   // share at the last take_news() that returned true
    void fields(Archive& archive);
  };

  Pool& pool(UserId user, GpuTypeId type) { return pools_[user.row() * types_ + type.row()]; }
  const Pool& pool(UserId user, GpuTypeId type) const {
    return pools_[user.row() * types_ + type.row()];
  }
  void size_columns();
  void set_groups(const Users& users);
  void count_kept(UserId user, std::int64_t gpus);
  void fill_base();
  void fill_type(GpuTypeId type);
  void apply_trades();
  void set_worth(UserId user);
  void fill_shares();
  void set_level(Pool& pool) const;
  void forget(UserId user);

  const EntitlementOptions options_;
  std::size_t types_ = 0;
  IdVector<UserId, std::int64_t> tickets_;
  IdVector<UserId, std::uint32_t> group_;  // or kNoGroup
  std::vector<double> group_tickets_;      // tickets of each group
  std::vector<double> quota_;              // or kNoQuota
  std::vector<std::int64_t> group_kept_;   // GPUs of the jobs that its users keep
  IdVector<UserId, std::int64_t> demand_;
  IdVector<UserId, std::int64_t> kept_all_;
  IdVector<UserId, double> due_;
  IdVector<UserId, double> factor_;  // see correct()
  std::vector<Pool> pools_;          // user by user
  std::vector<UserId> active_;
  IdVector<UserId, std::uint32_t> active_slot_;
  IdVector<GpuTypeId, std::int64_t> capacity_;
  std::vector<GpuTypeId> type_order_;
  bool stale_ = true;         // a fact changed since the last update
  bool shares_stale_ = true;  // or a correction

  // Workspace.
  ProgressiveFilling filling_;
  GroupedFilling grouped_;
  Trading trading_;
  std::vector<Trade> trades_;  // trades between active_ rows
  std::vector<double> weights_;
  std::vector<double> caps_;
  std::vector<double> filled_;
  std::vector<double> rest_;           // the demand of each active user
  std::vector<UserId> rows_;           // users of the columns above
  std::vector<std::uint32_t> groups_;  // groups of active_ rows
  std::vector<double> quota_left_;     // quota left of each group
  std::vector<double> speeds_;         // speeds of active_ rows, type by type
  std::vector<double> entitled_;       // as speeds_
  std::vector<double> most_;           // demand of active_ rows
};

}  // namespace fairlead
