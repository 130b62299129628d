// Entitlements: who is due how many GPUs of which type (Gandiva_fair).
//
// From the outside in:
//   base     each GPU type is shared among users by tickets (progressive filling), the fastest type
//            first, each user capped at what its unfinished jobs still ask for; where there are
//            groups, among those first, each capped at its quota, then among the users of each
//   traded   base after trading fast for slow GPUs; between trades as a ratio to base, so that
//            users who come and go change the base and not the terms of the last trade
//   due      traded, of all types together: what the ledger holds against what a user had
//   worth    what a GPU of a type counts for the user there: its speed on the type, relative to the
//            mean over what it is due; 1 where users do not trade, as GPUs are promised then, and
//            throughput where they do
//   share    what a user gets of a type now: the type filled by traded entitlements, corrected by
//            debts, as tickets, each user capped at the gangs it keeps there, so that nothing stays
//            unused
//   of_job   the user's share divided equally among its jobs on the type, each capped at its gang
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
  bool filling;  // false: every active user's tickets count alike, whatever it can use
  TradePrice price;
};

class Entitlements {
 public:
  explicit Entitlements(const EntitlementOptions& options) : options_(options) {}

  // Sizes the columns, and again when there are more users.
  void begin(const Users& users, const Cluster& cluster);
  // Some user has other tickets than before, or some user or group is new.
  void set_tickets(const Users& users);

  // The facts. They count from the next update() on.
  void set_capacity(GpuTypeId type, std::int64_t gpus);
  // The user has an unfinished job of `gpus` more, or less (negative).
  void add_demand(UserId user, std::int64_t gpus);
  // A job of the user is kept on the type from now on, or no longer.
  void keep(UserId user, GpuTypeId type, std::uint32_t gpus);
  void drop(UserId user, GpuTypeId type, std::uint32_t gpus);

  // Types by mean speed, fastest first; the order in which base is filled. O(types).
  void set_type_order(std::span<const GpuTypeId> fastest_first);
  // What the user's part of each type counts more, or less, in its share; else 1. From the next
  // update() on.
  void correct(UserId user, double factor);
  // Speeds by which GPUs are worth more or less to a user, user by user and type by type (0: not
  // known). From the next update() on.
  void set_speeds(std::span<const double> speeds);
  // Brings base, traded, due and worth up to date with the facts.
  void update_dues();
  // Brings all up to date with the facts and corrections.
  void update();
  // Trades on the basis of each user's speed on each type, user by user (0: not known), and keeps
  // the terms until the next time. The trades made, in order; their rows are those of active().
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
  // Whether users have the same group, which has a quota.
  bool share_quota(UserId a, UserId b) const { return group_[a] == group_[b] && has_quota(a); }
  // GPUs that the user's kept jobs may have at most: its group's quota less those of the other users.
  double room(UserId user) const;
  double base(UserId user, GpuTypeId type) const { return pool(user, type).base; }
  double base(UserId user) const;  // of all types
  double traded(UserId user, GpuTypeId type) const { return pool(user, type).traded; }
  double due(UserId user) const { return due_[user]; }
  double worth(UserId user, GpuTypeId type) const { return pool(user, type).worth; }
  // Whether that is all that its unfinished jobs ask for.
  bool has_all(UserId user) const {
    return due_[user] >= static_cast<double>(demand_[user]) * (1 - 1e-9);
  }
  double share(UserId user, GpuTypeId type) const { return pool(user, type).share; }
  // GPUs that a job of `gpus` GPUs of the user is due on the type.
  double of_job(UserId user, GpuTypeId type, std::uint32_t gpus) const {
    const Pool& p = pool(user, type);
    return options_.filling ? std::min(static_cast<double>(gpus), p.level) : p.level;
  }
  // GPUs of the largest job that the user keeps; 0 of none.
  std::uint32_t largest_gang(UserId user) const;

  // Whether the share differs by more than a hundredth, and a thousandth of a GPU, from what it was
  // when this was last true; zero before that.
  bool take_news(UserId user, GpuTypeId type);

  // REQUIRES: nothing was called before, and begin() is next: groups are not saved.
  void fields(Archive& archive);

 private:
  static constexpr std::uint32_t kNoGroup = GroupedClaims::kNoGroup;
  static constexpr double kNoQuota = std::numeric_limits<double>::max();

  // One user on one type.
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
    double level = 0;  // of share among jobs
    double told = 0;   // of share, by take_news()
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
  std::vector<double> group_tickets_;      // of each group
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
  std::vector<Trade> trades_;  // of active_ rows
  std::vector<double> weights_;
  std::vector<double> caps_;
  std::vector<double> filled_;
  std::vector<double> rest_;           // of each active user's demand
  std::vector<UserId> rows_;           // of the columns above
  std::vector<std::uint32_t> groups_;  // of active_ rows
  std::vector<double> quota_left_;     // of each group
  std::vector<double> speeds_;         // of active_ rows, type by type
  std::vector<double> entitled_;       // likewise
  std::vector<double> most_;           // of active_ rows: demand
};

}  // namespace fairlead
