#include "fairlead/solve/grouped_share_meter.h"

#include <algorithm>

namespace fairlead {

GroupedShareMeter::GroupedShareMeter(const FairShareMeter& flat)
    : gpus_(flat.gpus()), now_(flat.now()) {
  for (UserId user : ids<UserId>(flat.users())) {
    users_.push_back({.claim = flat.claim(user),
                      .share = flat.share(user),
                      .settled = flat.entitled_gpu_ms(user, now_)});
    if (flat.claim(user).demand > 0) active_.push_back(user);
    const Time since = flat.short_since(user);
    if (since == Time::never()) continue;
    users_[user].is_short = true;
    users_[user].short_since = since;
    ++short_;
  }
}

void GroupedShareMeter::add_group(std::int64_t tickets, std::int64_t quota) {
  FL_CHECK(tickets >= 1 && quota >= 0, "tickets {}, quota {}", tickets, quota);
  group_tickets_.push_back(static_cast<double>(tickets));
  quotas_.push_back(quota == 0 ? std::numeric_limits<double>::max() : static_cast<double>(quota));
}

void GroupedShareMeter::add_user(std::int64_t tickets, GroupId group) {
  FL_CHECK(tickets >= 1, "tickets {}", tickets);
  FL_CHECK(group.is_none() || group.row() < group_tickets_.size(), "group {} of {}", group.row(),
           group_tickets_.size());
  users_.push_back(
      {.claim = {tickets, 0}, .group = group.is_none() ? GroupedClaims::kNoGroup : group.row()});
}

void GroupedShareMeter::set_gpus(Time now, std::int64_t gpus) {
  FL_CHECK(gpus >= 0, "{} GPUs", gpus);
  advance(now);
  gpus_ = gpus;
  fill();
}

void GroupedShareMeter::add_demand(Time now, UserId user, std::int64_t gpus) {
  advance(now);
  std::int64_t& demand = users_[user].claim.demand;
  const bool was_active = demand > 0;
  demand += gpus;
  FL_CHECK(demand >= 0, "user {} with demand {}", user.row(), demand);
  if (!was_active && demand > 0) active_.push_back(user);
  if (was_active && demand == 0) {
    std::erase(active_, user);
    set_share(users_[user], 0);
  }
  fill();
}

void GroupedShareMeter::set_tickets(Time now, UserId user, std::int64_t tickets) {
  FL_CHECK(tickets >= 1, "tickets {}", tickets);
  advance(now);
  users_[user].claim.tickets = tickets;
  fill();
}

Time GroupedShareMeter::short_since(UserId user) const {
  return users_[user].is_short ? users_[user].short_since : Time::never();
}

double GroupedShareMeter::entitled_gpu_ms(UserId user, Time now) const {
  FL_CHECK(now >= now_, "{} ms is before {} ms", now.ms, now_.ms);
  return users_[user].settled + users_[user].share * static_cast<double>((now - now_).ms);
}

void GroupedShareMeter::advance(Time now) {
  FL_CHECK(now >= now_, "{} ms is before {} ms", now.ms, now_.ms);
  if (now == now_) return;
  for (UserId user : active_) users_[user].settled = entitled_gpu_ms(user, now);
  now_ = now;
}

void GroupedShareMeter::fill() {
  tickets_.clear();
  demands_.clear();
  groups_.clear();
  for (UserId user : active_) {
    tickets_.push_back(static_cast<double>(users_[user].claim.tickets));
    demands_.push_back(static_cast<double>(users_[user].claim.demand));
    groups_.push_back(users_[user].group);
  }
  shares_.resize(active_.size());
  filling_.fill({.amount = static_cast<double>(gpus_),
                 .weights = tickets_,
                 .caps = demands_,
                 .groups = groups_,
                 .group_weights = group_tickets_,
                 .group_caps = quotas_},
                shares_);
  for (std::size_t i = 0; i < active_.size(); ++i) set_share(users_[active_[i]], shares_[i]);
}

// A user that stops being short, and is short again at the same time, was short all along.
void GroupedShareMeter::set_share(User& user, double share) {
  constexpr double kRounding = 1e-9;
  user.share = share;
  const bool is_short = share < static_cast<double>(user.claim.demand) * (1 - kRounding);
  if (is_short == user.is_short) return;
  user.is_short = is_short;
  short_ += is_short ? 1 : -1;
  if (!is_short) user.short_until = now_;
  if (is_short && user.short_until != now_) user.short_since = now_;
}

}  // namespace fairlead
