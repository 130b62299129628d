#include "fairlead/policy/fairlead/debts.h"

#include <algorithm>

namespace fairlead {

void Debts::settle(Time now) {
  const double passed_s = to_seconds(now - since_);
  for (UserId user : ids<UserId>(due_.size())) {
    debt_[user] += (due_[user] - allocated_[user]) * passed_s;
  }
  since_ = now;
  share_idle_time();
  bound();
}

void Debts::share_idle_time() {
  double debts = 0;
  double dues = 0;
  for (UserId user : ids<UserId>(due_.size())) {
    if (due_[user] == 0) continue;
    debts += debt_[user];
    dues += due_[user];
  }
  if (dues == 0) return;
  for (UserId user : ids<UserId>(due_.size())) debt_[user] -= due_[user] * (debts / dues);
}

// If all demand can be served, the debt of a user with a due of s GPUs and gangs of up to g is at
// most s (W + 2 R) + g R (docs/policies/fairlead.md).
void Debts::bound() {
  constexpr double kTimes = 10;
  const double round_s = to_seconds(round_);
  const double longest_s = to_seconds(window_) + 2 * round_s;
  for (UserId user : ids<UserId>(due_.size())) {
    if (due_[user] == 0) continue;
    const double most = kTimes * (due_[user] * longest_s + gang_[user] * round_s);
    debt_[user] = std::clamp(debt_[user], -most, most);
  }
}

void Debts::expect(const Users& users, double gpus, std::span<const Ask> asks) {
  for (IdVector<UserId, double>* column : {&due_, &allocated_, &gang_, &demand_}) {
    column->clear();
    column->resize(users.size());
  }
  debt_.resize(users.size());
  for (const Ask& ask : asks) {
    demand_[ask.user] += ask.gpus;
    allocated_[ask.user] += ask.allocated;
    gang_[ask.user] = std::max(gang_[ask.user], ask.gang);
  }
  fill_dues(users, gpus);
}

void Debts::fill_dues(const Users& users, double gpus) {
  active_.clear();
  weights_.clear();
  caps_.clear();
  groups_.clear();
  for (UserId user : ids<UserId>(demand_.size())) {
    if (demand_[user] == 0) continue;
    active_.push_back(user);
    weights_.push_back(static_cast<double>(users.tickets[user]));
    caps_.push_back(demand_[user]);
    const GroupId group = users.group_of(user);
    groups_.push_back(group.is_none() ? GroupedClaims::kNoGroup : group.row());
  }
  const Groups& groups = users.groups;
  group_weights_.clear();
  group_caps_.clear();
  for (GroupId group : ids<GroupId>(groups.size())) {
    group_weights_.push_back(static_cast<double>(groups.tickets[group]));
    group_caps_.push_back(groups.quota[group] == 0 ? std::max(gpus, 1.0)
                                                   : static_cast<double>(groups.quota[group]));
  }
  shares_.resize(active_.size());
  filling_.fill({.amount = gpus,
                 .weights = weights_,
                 .caps = caps_,
                 .groups = groups_,
                 .group_weights = group_weights_,
                 .group_caps = group_caps_},
                shares_);
  for (std::size_t i = 0; i < active_.size(); ++i) due_[active_[i]] = shares_[i];
}

void Debts::fields(Archive& archive) {
  archive(since_);
  archive.rows(due_, allocated_, gang_, debt_);
}

}  // namespace fairlead
