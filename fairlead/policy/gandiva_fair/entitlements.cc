#include "fairlead/policy/gandiva_fair/entitlements.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace fairlead {
namespace {

// A user who sold all its GPUs of a type may still use GPUs there that no other user needs.
constexpr double kLeastTickets = 1e-6;

// Only the ratios count; the smallest whole numbers make that exact.
std::int64_t divisor_of(const Users& users) {
  std::int64_t divisor = 0;
  for (std::int64_t tickets : users.tickets) divisor = std::gcd(divisor, tickets);
  for (std::int64_t tickets : users.groups.tickets) divisor = std::gcd(divisor, tickets);
  return divisor;
}

}  // namespace

void Entitlements::begin(const Users& users, const Cluster& cluster) {
  if (types_ == 0) {
    types_ = cluster.type_names.size();
    for (GpuTypeId type : ids<GpuTypeId>(types_)) {
      capacity_.push_back(cluster.type_gpus[type]);
      type_order_.push_back(type);
    }
  }
  if (group_.size() < tickets_.size()) set_groups(users);  // they are loaded, without groups
  if (tickets_.size() < users.size() || group_tickets_.size() < users.groups.size()) {
    set_tickets(users);
  }
}

void Entitlements::set_tickets(const Users& users) {
  const std::int64_t divisor = divisor_of(users);
  tickets_.clear();
  for (std::int64_t tickets : users.tickets) tickets_.push_back(tickets / divisor);
  size_columns();
  set_groups(users);
  stale_ = true;
}

void Entitlements::set_groups(const Users& users) {
  const Groups& groups = users.groups;
  const std::int64_t divisor = divisor_of(users);
  group_tickets_.clear();
  quota_.clear();
  for (GroupId group : ids<GroupId>(groups.size())) {
    const std::int64_t tickets = groups.tickets[group] / divisor;
    group_tickets_.push_back(static_cast<double>(tickets));
    const std::int64_t quota = groups.quota[group];
    quota_.push_back(quota == 0 ? kNoQuota : static_cast<double>(quota));
  }
  group_.clear();
  group_kept_.assign(groups.size(), 0);
  for (UserId user : ids<UserId>(users.size())) {
    const GroupId group = users.group_of(user);
    group_.push_back(group.is_none() ? kNoGroup : group.row());
    if (kept_all_.has(user)) count_kept(user, kept_all_[user]);
  }
}

void Entitlements::count_kept(UserId user, std::int64_t gpus) {
  if (group_[user] != kNoGroup) group_kept_[group_[user]] += gpus;
}

double Entitlements::room(UserId user) const {
  if (!has_quota(user)) return kNoQuota;
  return quota_[group_[user]] - static_cast<double>(group_kept_[group_[user]] - kept_all_[user]);
}

void Entitlements::size_columns() {
  const std::size_t users = tickets_.size();
  demand_.resize(users);
  kept_all_.resize(users);
  due_.resize(users);
  factor_.resize(users, 1);
  active_slot_.resize(users);
  pools_.resize(users * types_);
}

void Entitlements::set_capacity(GpuTypeId type, std::int64_t gpus) {
  stale_ = stale_ || capacity_[type] != gpus;
  capacity_[type] = gpus;
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
    FL_CHECK(p.kept == 0, "user {} left with jobs on a type", user.row());
    p.base = p.traded = p.speed = p.share = p.level = p.told = 0;
    p.ratio = p.worth = 1;
  }
  due_[user] = 0;
  factor_[user] = 1;
}

void Entitlements::keep(UserId user, GpuTypeId type, std::uint32_t gpus) {
  Pool& p = pool(user, type);
  p.kept += gpus;
  ++p.jobs;
  kept_all_[user] += gpus;
  count_kept(user, gpus);
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
  --at->second;  // a known size keeps its place, so that it needs no allocation again
  p.kept -= gpus;
  --p.jobs;
  kept_all_[user] -= gpus;
  count_kept(user, -std::int64_t{gpus});
  stale_ = true;
}

void Entitlements::set_speeds(std::span<const double> speeds) {
  for (UserId user : active_) {
    for (GpuTypeId type : ids<GpuTypeId>(types_)) {
      pool(user, type).speed = speeds[user.row() * types_ + type.row()];
    }
  }
  stale_ = true;
}

double Entitlements::base(UserId user) const {
  double all = 0;
  for (GpuTypeId type : ids<GpuTypeId>(types_)) all += base(user, type);
  return all;
}

void Entitlements::set_type_order(std::span<const GpuTypeId> fastest_first) {
  stale_ = stale_ || !std::ranges::equal(type_order_, fastest_first);
  type_order_.assign(fastest_first.begin(), fastest_first.end());
}

void Entitlements::correct(UserId user, double factor) {
  if (factor_[user] == factor) return;
  factor_[user] = factor;
  shares_stale_ = true;
}

void Entitlements::update_dues() {
  if (!stale_) return;
  fill_base();
  apply_trades();
  stale_ = false;
  shares_stale_ = true;
}

void Entitlements::update() {
  update_dues();
  if (shares_stale_) fill_shares();
  shares_stale_ = false;
}

void Entitlements::fill_base() {
  weights_.clear();
  rest_.clear();
  groups_.clear();
  quota_left_ = quota_;
  for (UserId user : active_) {
    groups_.push_back(group_[user]);
    weights_.push_back(static_cast<double>(tickets_[user]));
    rest_.push_back(static_cast<double>(demand_[user]));
  }
  filled_.resize(active_.size());
  for (GpuTypeId type : type_order_) {
    fill_type(type);
    for (std::size_t i = 0; i < active_.size(); ++i) {
      pool(active_[i], type).base = filled_[i];
      rest_[i] = std::max(0.0, rest_[i] - filled_[i]);
    }
  }
}

void Entitlements::fill_type(GpuTypeId type) {
  const auto gpus = static_cast<double>(capacity_[type]);
  if (group_tickets_.empty()) return filling_.fill(gpus, weights_, rest_, filled_);
  grouped_.fill({.amount = gpus,
                 .weights = weights_,
                 .caps = rest_,
                 .groups = groups_,
                 .group_weights = group_tickets_,
                 .group_caps = quota_left_},
                filled_);
  for (std::size_t i = 0; i < active_.size(); ++i) {
    if (groups_[i] == kNoGroup) continue;
    double& left = quota_left_[groups_[i]];
    left = std::max(0.0, left - filled_[i]);
  }
}

// The ratios sum to the available GPUs only for the base they were made with, so they are scaled.
void Entitlements::apply_trades() {
  for (UserId user : active_) due_[user] = 0;
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
      due_[user] += p.traded;
    }
  }
  for (UserId user : active_) set_worth(user);
}

// Scales the worth of GPUs so that the user's traded GPUs together are worth as many as it is due.
void Entitlements::set_worth(UserId user) {
  double work = 0;
  for (GpuTypeId type : ids<GpuTypeId>(types_)) {
    work += pool(user, type).traded * pool(user, type).speed;
  }
  for (GpuTypeId type : ids<GpuTypeId>(types_)) {
    Pool& p = pool(user, type);
    p.worth = work > 0 && p.speed > 0 ? p.speed * due_[user] / work : 1;
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
      weights_.push_back(std::max(p.traded, kLeastTickets) * factor_[user]);
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

// Sets the level at which jobs of the pool's gangs, each capped at its gang, add up to the share.
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

std::uint32_t Entitlements::largest_gang(UserId user) const {
  std::uint32_t largest = 0;
  for (GpuTypeId type : ids<GpuTypeId>(types_)) {
    for (const auto& [gpus, count] : pool(user, type).gangs) {
      if (count > 0) largest = std::max(largest, gpus);
    }
  }
  return largest;
}

std::span<const Trade> Entitlements::trade(std::span<const double> speeds) {
  speeds_.clear();
  entitled_.clear();
  most_.clear();
  for (UserId user : active_) {
    most_.push_back(static_cast<double>(demand_[user]));
    double base = 0;
    for (GpuTypeId type : ids<GpuTypeId>(types_)) {
      base += pool(user, type).base;
      entitled_.push_back(pool(user, type).base);
    }
    // A user who can use no more GPUs than it has gains nothing by more and slower ones; a user
    // with a quota may not have more.
    const bool is_short =
        base < static_cast<double>(demand_[user]) * (1 - 1e-9) && !has_quota(user);
    for (std::size_t type = 0; type < types_; ++type) {
      speeds_.push_back(is_short ? speeds[user.row() * types_ + type] : 0);
    }
  }
  trades_.clear();
  trading_.trade(types_, speeds_, entitled_, most_, options_.price, trades_);
  for (std::size_t i = 0; i < active_.size(); ++i) {
    for (GpuTypeId type : ids<GpuTypeId>(types_)) {
      Pool& p = pool(active_[i], type);
      p.ratio = p.base > 0 ? entitled_[i * types_ + type.row()] / p.base : 1;
    }
  }
  apply_trades();
  fill_shares();
  return trades_;
}

bool Entitlements::take_news(UserId user, GpuTypeId type) {
  constexpr double kPart = 0.01;
  constexpr double kGpus = 0.001;
  Pool& p = pool(user, type);
  const double change = std::abs(p.share - p.told);
  if (change <= kPart * p.told || change < kGpus) return false;
  p.told = p.share;
  return true;
}

void Entitlements::Pool::fields(Archive& archive) {
  archive(kept, jobs);
  // Sizes of which the user keeps no job are left out.
  auto kept_gangs = gangs;
  std::erase_if(kept_gangs, [](const auto& size) { return size.second == 0; });
  archive(kept_gangs);
  if (archive.reads()) gangs = std::move(kept_gangs);
  archive(base, ratio, traded, speed, worth, share, level, told);
}

void Entitlements::fields(Archive& archive) {
  std::uint64_t users = tickets_.size();
  archive(types_);
  archive.expect(types_ <= kGpuTypesMax);
  archive.size(users);
  archive.sized(tickets_, users);
  if (!archive.ok()) return;
  if (archive.reads()) size_columns();
  archive.sized(capacity_, types_);
  archive.sized(type_order_, types_);
  archive(stale_, shares_stale_);
  archive.elements(active_, [&](UserId& user) {
    archive(user);
    archive.expect(tickets_.has(user));
    if (!archive.ok()) return;
    archive(demand_[user], kept_all_[user], due_[user], factor_[user]);
    for (GpuTypeId type : ids<GpuTypeId>(types_)) archive(pool(user, type));
  });
  for (std::size_t row = 0; row < active_.size(); ++row) {
    active_slot_[active_[row]] = static_cast<std::uint32_t>(row);
  }
}

}  // namespace fairlead
