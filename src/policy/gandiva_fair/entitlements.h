// Entitlements: who is due how many GPUs of which type, and who is behind (Gandiva_fair).
//
// From the outside in:
//   base     each GPU type is shared among users by tickets (progressive filling), the fastest type
//            first, each user capped at what its unfinished jobs still ask for
//   traded   base after trading fast for slow GPUs; between trades as a ratio to base, so that
//            users who come and go change the base and not the terms of the last trade
//   share    what a user gets of a type now: the type filled by traded entitlements as tickets,
//            each user capped at the gangs it keeps there, so that nothing stays unused
//   of_job   the user's share divided equally among its jobs on the type, each capped at its gang
//
// Behind the shares stands a ledger: per user and type, what the user was due less what it held.
// correction() turns a debt into more tickets, such that it would be paid within the horizon; that
// is how nodes that know nothing of each other serve a user fairly in sum (ours).
//
// update() costs O(users with jobs x types), and a logarithm; everything else O(1) or O(gang
// sizes).
#pragma once

#include "fairlead/base/bytes.h"
#include "fairlead/base/units.h"
#include "fairlead/model/jobs.h"
#include "fairlead/solve/filling.h"
#include "fairlead/solve/trading.h"

#include <cstdint>
#include <utility>
#include <vector>

namespace fairlead {

struct EntitlementOptions {
  bool filling;  // false: every active user's tickets count alike, whatever it can use
  TradePrice price;
  Duration quantum;
  Duration horizon;  // within which a debt would be paid
  // Debts fade: settled every quantum, to 1/e in this time. No option of the policy.
  Duration memory = seconds(2000);
};

class Entitlements {
 public:
  explicit Entitlements(const EntitlementOptions& options) : options_(options) {}

  // Sizes the columns, and again when there are more users.
  void begin(const Users& users, const Cluster& cluster);
  // Some user has other tickets than before, or is new.
  void set_tickets(const Users& users);

  // The facts. They count from the next update() on.
  void set_capacity(GpuTypeId type, std::int64_t gpus);
  // The user has an unfinished job of `gpus` more, or less (negative).
  void add_demand(UserId user, std::int64_t gpus);
  // A job of the user is kept on the type from now on, or no longer.
  void keep(UserId user, GpuTypeId type, std::uint32_t gpus);
  void drop(UserId user, GpuTypeId type, std::uint32_t gpus);
  // The user holds so many GPUs of the type more, or less.
  void add_held(Time now, UserId user, GpuTypeId type, std::int64_t gpus);

  // Types by mean speed, fastest first; the order in which base is filled. O(types).
  void set_type_order(std::span<const GpuTypeId> fastest_first);
  // Brings shares up to date with the facts and settles the ledger.
  void update(Time now);
  // Forgets all debts: the ledger begins anew.
  void forgive(Time now);
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
  double base(UserId user, GpuTypeId type) const { return pool(user, type).base; }
  double base(UserId user) const;  // of all types
  double traded(UserId user, GpuTypeId type) const { return pool(user, type).traded; }
  double share(UserId user, GpuTypeId type) const { return pool(user, type).share; }
  // GPUs that a job of `gpus` GPUs of the user is due on the type.
  double of_job(UserId user, GpuTypeId type, std::uint32_t gpus) const {
    const Pool& p = pool(user, type);
    return options_.filling ? std::min(static_cast<double>(gpus), p.level) : p.level;
  }
  // What a job's tickets are multiplied by to pay its user's debt, 1/4 to 4.
  double correction(UserId user, GpuTypeId type) const { return pool(user, type).correction; }
  // GPU-milliseconds that the user is behind on the type; negative: ahead.
  double debt(UserId user, GpuTypeId type) const { return pool(user, type).debt; }

  void save(Writer& writer) const;
  // REQUIRES: nothing was called before.
  void load(Reader& reader);

 private:
  // One user on one type.
  struct Pool {
    std::int64_t kept = 0;  // GPUs of the jobs kept there
    std::int64_t jobs = 0;  // and their number
    std::int64_t held = 0;
    std::vector<std::pair<std::uint32_t, std::int64_t>> gangs{};  // sizes, increasing: how many
    double base = 0;
    double ratio = 1;  // traded / base after the last trade
    double traded = 0;
    double share = 0;
    double level = 0;  // of share among jobs
    double debt = 0;   // up to `since`
    double correction = 1;
    Time since{};
  };

  Pool& pool(UserId user, GpuTypeId type) { return pools_[user.row() * types_ + type.row()]; }
  const Pool& pool(UserId user, GpuTypeId type) const {
    return pools_[user.row() * types_ + type.row()];
  }
  void size_columns();
  void settle(Pool& pool, Time now);
  void fill_base();
  void apply_trades();
  void fill_shares();
  void set_level(Pool& pool) const;
  static double largest_gang(const Pool& pool);
  void forgive_idle_time(GpuTypeId type);
  void set_corrections();
  void forget(UserId user);

  const EntitlementOptions options_;
  std::size_t types_ = 0;
  IdVector<UserId, std::int64_t> tickets_;
  IdVector<UserId, std::int64_t> demand_;
  IdVector<UserId, std::int64_t> kept_all_;
  std::vector<Pool> pools_;  // user by user
  std::vector<UserId> active_;
  IdVector<UserId, std::uint32_t> active_slot_;
  IdVector<GpuTypeId, std::int64_t> capacity_;
  std::vector<GpuTypeId> type_order_;
  bool stale_ = true;  // a fact changed since the last update

  // Workspace.
  ProgressiveFilling filling_;
  Trading trading_;
  std::vector<Trade> trades_;  // of active_ rows
  std::vector<double> weights_;
  std::vector<double> caps_;
  std::vector<double> filled_;
  std::vector<double> rest_;      // of each active user's demand
  std::vector<UserId> rows_;      // of the columns above
  std::vector<double> speeds_;    // of active_ rows, type by type
  std::vector<double> entitled_;  // likewise
};

}  // namespace fairlead
