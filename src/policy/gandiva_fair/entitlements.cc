#include "fairlead/policy/gandiva_fair/entitlements.h"

#include <algorithm>
#include <numeric>

namespace fairlead {
namespace {

// A user who sold all it had of a type may still use what no other user wants there.
constexpr double kLeastTickets = 1e-6;

}  // namespace

void Entitlements::begin(const Users& users, const Cluster& cluster) {
  if (types_ == 0) {
    types_ = cluster.type_names.size();
    for (GpuTypeId type : ids<GpuTypeId>(types_)) {
      capacity_.push_back(cluster.type_gpus[type]);
      type_order_.push_back(type);
    }
  }
  if (tickets_.size() < users.size()) set_tickets(users);
}

void Entitlements::set_tickets(const Users& users) {
  // Only the ratios count; the smallest whole numbers make that exact.
  std::int64_t divisor = 0;
  for (std::int64_t tickets : users.tickets) divisor = std::gcd(divisor, tickets);
  tickets_.clear();
  for (std::int64_t tickets : users.tickets) tickets_.push_back(tickets / divisor);
  size_columns();
  stale_ = true;
}

void Entitlements::size_columns() {
  const std::size_t users = tickets_.size();
  demand_.resize(users);
  kept_all_.resize(users);
  active_slot_.resize(users);
  pools_.resize(users * types_);
}

void Entitlements::set_capacity(GpuTypeId type, std::int64_t gpus) {
  capacity_[type] = gpus;
  stale_ = true;
}

void Entitlements::add_demand(UserId user, std::int64_t gpus) {
  const bool was_active = demand_[user] > 0;
  demand_[user] += gpus;
  FL_CHECK(demand_[user] >= 0, "user {} demands {}", user.row(), demand_[user]);
  stale_ = true;
  if (!was_active && demand_[user] > 0) {
    active_slot_[user] = static_cast<std::uint32_t>(active_.size());
    active_.push_back(user);
  } else if (was_active && demand_[user] == 0) {
    forget(user);
    const std::uint32_t slot = active_slot_[user];
    active_[slot] = active_.back();
    active_slot_[active_[slot]] = slot;
    active_.pop_back();
  }
}

void Entitlements::forget(UserId user) {
  for (GpuTypeId type : ids<GpuTypeId>(types_)) {
    Pool& p = pool(user, type);
    FL_CHECK(p.kept == 0 && p.held == 0, "user {} left with jobs on a type", user.row());
    p.base = p.traded = p.share = p.level = p.debt = 0;
    p.ratio = p.correction = 1;
  }
}

void Entitlements::keep(UserId user, GpuTypeId type, std::uint32_t gpus) {
  Pool& p = pool(user, type);
  p.kept += gpus;
  ++p.jobs;
  kept_all_[user] += gpus;
  const auto at =
      std::ranges::lower_bound(p.gangs, gpus, {}, &decltype(p.gangs)::value_type::first);
  if (at != p.gangs.end() && at->first == gpus) {
    ++at->second;
  } else {
    p.gangs.insert(at, {gpus, 1});
  }
  stale_ = true;
}

void Entitlements::drop(UserId user, GpuTypeId type, std::uint32_t gpus) {
  Pool& p = pool(user, type);
  const auto at =
      std::ranges::lower_bound(p.gangs, gpus, {}, &decltype(p.gangs)::value_type::first);
  FL_CHECK(at != p.gangs.end() && at->first == gpus && at->second > 0);
  --at->second;  // a size once seen keeps its place, so that nothing is allocated for it again
  p.kept -= gpus;
  --p.jobs;
  kept_all_[user] -= gpus;
  if (p.jobs == 0) p.debt = 0;
  stale_ = true;
}

double Entitlements::base(UserId user) const {
  double all = 0;
  for (GpuTypeId type : ids<GpuTypeId>(types_)) all += base(user, type);
  return all;
}

void Entitlements::settle(Pool& p, Time now) {
  const auto elapsed = static_cast<double>((now - p.since).ms);
  const auto memory = static_cast<double>(options_.memory.ms);
  p.debt *= memory / (memory + elapsed);
  p.debt += (p.share - static_cast<double>(p.held)) * elapsed;
  p.since = now;
}

void Entitlements::add_held(Time now, UserId user, GpuTypeId type, std::int64_t gpus) {
  Pool& p = pool(user, type);
  settle(p, now);
  p.held += gpus;
}

void Entitlements::set_type_order(std::span<const GpuTypeId> fastest_first) {
  stale_ = stale_ || !std::ranges::equal(type_order_, fastest_first);
  type_order_.assign(fastest_first.begin(), fastest_first.end());
}

void Entitlements::update(Time now) {
  for (UserId user : active_) {
    for (GpuTypeId type : ids<GpuTypeId>(types_)) settle(pool(user, type), now);
  }
  for (GpuTypeId type : ids<GpuTypeId>(types_)) forgive_idle_time(type);
  if (stale_) {
    fill_base();
    apply_trades();
    fill_shares();
    stale_ = false;
  }
  set_corrections();
}

void Entitlements::forgive(Time now) {
  for (UserId user : active_) {
    for (GpuTypeId type : ids<GpuTypeId>(types_)) {
      Pool& p = pool(user, type);
      p.debt = 0;
      p.correction = 1;
      p.since = now;
    }
  }
}

void Entitlements::fill_base() {
  weights_.clear();
  rest_.clear();
  for (UserId user : active_) {
    weights_.push_back(static_cast<double>(tickets_[user]));
    rest_.push_back(static_cast<double>(demand_[user]));
  }
  filled_.resize(active_.size());
  for (GpuTypeId type : type_order_) {
    filling_.fill(static_cast<double>(capacity_[type]), weights_, rest_, filled_);
    for (std::size_t i = 0; i < active_.size(); ++i) {
      pool(active_[i], type).base = filled_[i];
      rest_[i] = std::max(0.0, rest_[i] - filled_[i]);
    }
  }
}

// The ratios add up to what there is only for the base they were made with, so they are scaled.
void Entitlements::apply_trades() {
  for (GpuTypeId type : ids<GpuTypeId>(types_)) {
    double base = 0;
    double wanted = 0;
    for (UserId user : active_) {
      base += pool(user, type).base;
      wanted += pool(user, type).base * pool(user, type).ratio;
    }
    const double scale = wanted > 0 ? base / wanted : 0;
    for (UserId user : active_) {
      Pool& p = pool(user, type);
      p.traded = p.base * p.ratio * scale;
    }
  }
}

void Entitlements::fill_shares() {
  for (GpuTypeId type : ids<GpuTypeId>(types_)) {
    weights_.clear();
    caps_.clear();
    rows_.clear();
    double tickets = 0;
    for (UserId user : active_) {
      Pool& p = pool(user, type);
      p.share = p.level = 0;
      if (p.kept == 0) continue;
      rows_.push_back(user);
      weights_.push_back(std::max(p.traded, kLeastTickets));
      caps_.push_back(static_cast<double>(p.kept));
      tickets += static_cast<double>(tickets_[user]);
    }
    const auto gpus = static_cast<double>(capacity_[type]);
    if (!options_.filling) {
      for (UserId user : rows_) {
        Pool& p = pool(user, type);
        p.share = gpus * static_cast<double>(tickets_[user]) / tickets;
        p.level = p.share / static_cast<double>(p.jobs);
      }
      continue;
    }
    filled_.resize(rows_.size());
    filling_.fill(gpus, weights_, caps_, filled_);
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      Pool& p = pool(rows_[i], type);
      p.share = filled_[i];
      set_level(p);
    }
  }
}

// The level at which jobs of the pool's gangs, each capped at its gang, add up to the share.
void Entitlements::set_level(Pool& p) const {
  double left = p.share;
  std::int64_t jobs = p.jobs;
  for (const auto& [gpus, count] : p.gangs) {
    if (jobs == 0) return;
    p.level = left / static_cast<double>(jobs);
    if (p.level < gpus) return;
    p.level = gpus;
    left = std::max(0.0, left - static_cast<double>(gpus) * static_cast<double>(count));
    jobs -= count;
  }
}

// What no user received is no user's debt: time that a type stood idle is lost to all in
// proportion.
void Entitlements::forgive_idle_time(GpuTypeId type) {
  double debt = 0;
  double share = 0;
  for (UserId user : active_) {
    debt += pool(user, type).debt;
    share += pool(user, type).share;
  }
  if (debt <= 0 || share <= 0) return;
  for (UserId user : active_) {
    Pool& p = pool(user, type);
    p.debt -= p.share * (debt / share);
  }
}

double Entitlements::largest_gang(const Pool& p) {
  for (auto at = p.gangs.rbegin(); at != p.gangs.rend(); ++at) {
    if (at->second > 0) return at->first;
  }
  return 0;
}

void Entitlements::set_corrections() {
  const auto horizon = static_cast<double>(options_.horizon.ms);
  for (UserId user : active_) {
    for (GpuTypeId type : ids<GpuTypeId>(types_)) {
      Pool& p = pool(user, type);
      p.correction = 1;
      if (!options_.filling || p.share <= 0) continue;
      // Debts beyond what the horizon could pay are forgotten: they come from what cannot be
      // served, and would outweigh all others when it can. The more so debts of users who have
      // all they ask for, as only what they lose from now on can be helped.
      const double gang = largest_gang(p);
      const bool has_all = p.share >= static_cast<double>(p.kept) * (1 - 1e-9);
      const double most = has_all ? 3 * gang * static_cast<double>(options_.quantum.ms)
                                  : (p.share + gang) * horizon;
      p.debt = std::clamp(p.debt, -most, most);
      p.correction = std::clamp(1 + p.debt / (p.share * horizon), 0.25, 4.0);
    }
  }
}

std::span<const Trade> Entitlements::trade(std::span<const double> speeds) {
  speeds_.clear();
  entitled_.clear();
  for (UserId user : active_) {
    double base = 0;
    for (GpuTypeId type : ids<GpuTypeId>(types_)) {
      base += pool(user, type).base;
      entitled_.push_back(pool(user, type).base);
    }
    // Who can use no more GPUs than it has gains nothing by more and slower ones.
    const bool is_short = base < static_cast<double>(demand_[user]) * (1 - 1e-9);
    for (std::size_t type = 0; type < types_; ++type) {
      speeds_.push_back(is_short ? speeds[user.row() * types_ + type] : 0);
    }
  }
  trades_.clear();
  trading_.trade(types_, speeds_, entitled_, options_.price, trades_);
  for (std::size_t i = 0; i < active_.size(); ++i) {
    for (GpuTypeId type : ids<GpuTypeId>(types_)) {
      Pool& p = pool(active_[i], type);
      p.ratio = p.base > 0 ? entitled_[i * types_ + type.row()] / p.base : 1;
    }
  }
  apply_trades();
  fill_shares();
  set_corrections();
  return trades_;
}

void Entitlements::save(Writer& writer) const {
  writer.u64(types_);
  writer.u64(tickets_.size());
  for (std::int64_t tickets : tickets_) writer.i64(tickets);
  for (std::int64_t gpus : capacity_) writer.i64(gpus);
  for (GpuTypeId type : type_order_) writer.id(type);
  writer.u64(stale_ ? 1 : 0);
  writer.u64(active_.size());
  for (UserId user : active_) {
    writer.id(user);
    writer.i64(demand_[user]);
    writer.i64(kept_all_[user]);
    for (GpuTypeId type : ids<GpuTypeId>(types_)) {
      const Pool& p = pool(user, type);
      writer.i64(p.kept);
      writer.i64(p.jobs);
      writer.i64(p.held);
      writer.u64(p.gangs.size());
      for (const auto& [gpus, count] : p.gangs) {
        writer.u64(gpus);
        writer.i64(count);
      }
      for (double real : {p.base, p.ratio, p.traded, p.share, p.level, p.debt, p.correction}) {
        writer.real(real);
      }
      writer.time(p.since);
    }
  }
}

void Entitlements::load(Reader& reader) {
  types_ = reader.u64();
  const std::uint64_t users = reader.u64();
  if (types_ > kGpuTypesMax || users > reader.left()) return reader.fail();
  for (std::uint64_t i = 0; i < users; ++i) tickets_.push_back(reader.i64());
  size_columns();
  for (std::size_t i = 0; i < types_; ++i) capacity_.push_back(reader.i64());
  for (std::size_t i = 0; i < types_; ++i) type_order_.push_back(reader.id<GpuTypeId>());
  stale_ = reader.u64() != 0;
  active_.clear();
  for (std::uint64_t left = reader.u64(); left > 0 && reader.ok(); --left) {
    const UserId user = reader.id<UserId>();
    if (!tickets_.has(user)) return reader.fail();
    active_slot_[user] = static_cast<std::uint32_t>(active_.size());
    active_.push_back(user);
    demand_[user] = reader.i64();
    kept_all_[user] = reader.i64();
    for (GpuTypeId type : ids<GpuTypeId>(types_)) {
      Pool& p = pool(user, type);
      p.kept = reader.i64();
      p.jobs = reader.i64();
      p.held = reader.i64();
      p.gangs.clear();
      for (std::uint64_t sizes = reader.u64(); sizes > 0 && reader.ok(); --sizes) {
        const std::uint32_t gpus = reader.u32();
        p.gangs.emplace_back(gpus, reader.i64());
      }
      for (double* real :
           {&p.base, &p.ratio, &p.traded, &p.share, &p.level, &p.debt, &p.correction}) {
        *real = reader.real();
      }
      p.since = reader.time();
    }
  }
}

}  // namespace fairlead
