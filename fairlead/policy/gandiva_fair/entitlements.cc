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
  if (types() == 0) {
    size_columns(0, cluster.type_names.size());
    base_.begin(cluster);
  }
  if (groups_.users() < tickets_.size()) set_groups(users);  // they are loaded, without groups
  if (tickets_.size() < users.size() || groups_.size() < users.groups.size()) {
    set_tickets(users);
  }
}

void Entitlements::set_tickets(const Users& users) {
  const std::int64_t divisor = divisor_of(users);
  tickets_.clear();
  for (std::int64_t tickets : users.tickets) tickets_.push_back(tickets / divisor);
  size_columns(users.size(), types());
  set_groups(users);
  stale_ = true;
}

void Entitlements::set_groups(const Users& users) { groups_.set(users, divisor_of(users), kept_); }

void Entitlements::size_columns(std::size_t users, std::size_t types) {
  demand_.resize(users);
  kept_.resize(users, types);
  base_.resize(users, types);
  terms_.resize(users, types);
  due_.resize(users);
  factor_.resize(users, 1);
  pools_.resize(users, types);
}

// --- Facts ------------------------------------------------------------------------------------

void Entitlements::set_capacity(GpuTypeId type, std::int64_t gpus) {
  stale_ |= base_.set_capacity(type, gpus);
}

void Entitlements::set_type_order(std::span<const GpuTypeId> fastest_first) {
  stale_ |= base_.set_type_order(fastest_first);
}

void Entitlements::add_demand(UserId user, std::int64_t gpus) {
  if (!demand_.add(user, gpus)) forget(user);
  stale_ = true;
}

void Entitlements::forget(UserId user) {
  FL_CHECK(kept_.gpus(user) == 0, "user {} left with jobs on a type", user.row());
  base_.forget(user);
  terms_.forget(user);
  for (GpuTypeId type : ids<GpuTypeId>(types())) pools_(user, type) = {};
  due_[user] = 0;
  factor_[user] = 1;
}

void Entitlements::keep(UserId user, GpuTypeId type, std::uint32_t gpus) {
  kept_.add(user, type, gpus);
  groups_.keep(user, gpus);
  stale_ = true;
}

void Entitlements::drop(UserId user, GpuTypeId type, std::uint32_t gpus) {
  kept_.remove(user, type, gpus);
  groups_.keep(user, -std::int64_t{gpus});
  stale_ = true;
}

void Entitlements::set_speeds(std::span<const double> speeds) {
  for (UserId user : demand_.active()) {
    for (GpuTypeId type : ids<GpuTypeId>(types())) {
      pools_(user, type).speed = speeds[user.row() * types() + type.row()];
    }
  }
  stale_ = true;
}

void Entitlements::correct(UserId user, double factor) {
  if (factor_[user] == factor) return;
  factor_[user] = factor;
  shares_stale_ = true;
}

// --- Results ----------------------------------------------------------------------------------

void Entitlements::update_dues() {
  if (!stale_) return;
  base_.fill(demand_, tickets_, groups_);
  apply_trades();
  stale_ = false;
  shares_stale_ = true;
}

void Entitlements::update() {
  update_dues();
  if (shares_stale_) fill_shares();
  shares_stale_ = false;
}

std::span<const Trade> Entitlements::trade(std::span<const double> speeds) {
  const std::span<const Trade> trades = terms_.trade(base_, demand_, groups_, speeds);
  apply_trades();
  fill_shares();
  return trades;
}

// The ratios sum to the available GPUs only for the base they were made with, so they are scaled.
void Entitlements::apply_trades() {
  for (UserId user : demand_.active()) due_[user] = 0;
  for (GpuTypeId type : ids<GpuTypeId>(types())) {
    double base = 0;
    double wanted = 0;
    for (UserId user : demand_.active()) {
      base += base_.of(user, type);
      wanted += base_.of(user, type) * terms_.ratio(user, type);
    }
    const double scale = wanted > 0 ? base / wanted : 0;
    for (UserId user : demand_.active()) {
      Pool& p = pools_(user, type);
      p.traded = base_.of(user, type) * terms_.ratio(user, type) * scale;
      due_[user] += p.traded;
    }
  }
  for (UserId user : demand_.active()) set_worth(user);
}

// Scales the worth of GPUs so that the user's traded GPUs together are worth as many as it is due.
void Entitlements::set_worth(UserId user) {
  double work = 0;
  for (GpuTypeId type : ids<GpuTypeId>(types())) {
    work += pools_(user, type).traded * pools_(user, type).speed;
  }
  for (GpuTypeId type : ids<GpuTypeId>(types())) {
    Pool& p = pools_(user, type);
    p.worth = work > 0 && p.speed > 0 ? p.speed * due_[user] / work : 1;
  }
}

void Entitlements::fill_shares() {
  for (GpuTypeId type : ids<GpuTypeId>(types())) fill_shares_of(type);
}

void Entitlements::fill_shares_of(GpuTypeId type) {
  weights_.clear();
  caps_.clear();
  rows_.clear();
  double tickets = 0;
  for (UserId user : demand_.active()) {
    Pool& p = pools_(user, type);
    p.share = p.level = 0;
    const std::int64_t kept = kept_.gpus(user, type);
    if (kept == 0) continue;
    rows_.push_back(user);
    weights_.push_back(std::max(p.traded, kLeastTickets) * factor_[user]);
    caps_.push_back(static_cast<double>(kept));
    tickets += static_cast<double>(tickets_[user]);
  }
  const auto gpus = static_cast<double>(base_.capacity(type));
  if (!fills_) {
    for (UserId user : rows_) {
      Pool& p = pools_(user, type);
      p.share = gpus * static_cast<double>(tickets_[user]) / tickets;
      p.level = p.share / static_cast<double>(kept_.jobs(user, type));
    }
    return;
  }
  filled_.resize(rows_.size());
  filling_.fill(gpus, weights_, caps_, filled_);
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    Pool& p = pools_(rows_[i], type);
    p.share = filled_[i];
    p.level = kept_.level(rows_[i], type, p.share);
  }
}

bool Entitlements::take_news(UserId user, GpuTypeId type) {
  constexpr double kPart = 0.01;
  constexpr double kGpus = 0.001;
  Pool& p = pools_(user, type);
  const double change = std::abs(p.share - p.told);
  if (change <= kPart * p.told || change < kGpus) return false;
  p.told = p.share;
  return true;
}

void Entitlements::fields(Archive& archive) {
  std::uint64_t users = tickets_.size();
  std::uint64_t types = pools_.types();
  archive(types);
  archive.expect(types <= kGpuTypesMax);
  archive.size(users);
  archive.sized(tickets_, users);
  if (!archive.ok()) return;
  if (archive.reads()) size_columns(users, types);
  base_.fields_of_types(archive);
  archive(stale_, shares_stale_);
  demand_.archive_active(archive, [&](UserId user) {
    kept_.fields_of(archive, user);
    archive(due_[user], factor_[user]);
    for (GpuTypeId type : ids<GpuTypeId>(types)) {
      kept_.fields_of(archive, user, type);
      base_.fields_of(archive, user, type);
      terms_.fields_of(archive, user, type);
      archive(pools_(user, type));
    }
  });
}

}  // namespace fairlead
