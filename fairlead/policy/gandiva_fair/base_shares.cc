#include "fairlead/policy/gandiva_fair/base_shares.h"

#include <algorithm>

namespace fairlead {

void BaseShares::begin(const Cluster& cluster) {
  for (GpuTypeId type : ids<GpuTypeId>(cluster.type_names.size())) {
    capacity_.push_back(cluster.type_gpus[type]);
    type_order_.push_back(type);
  }
}

bool BaseShares::set_capacity(GpuTypeId type, std::int64_t gpus) {
  const bool changes = capacity_[type] != gpus;
  capacity_[type] = gpus;
  return changes;
}

bool BaseShares::set_type_order(std::span<const GpuTypeId> fastest_first) {
  const bool changes = !std::ranges::equal(type_order_, fastest_first);
  type_order_.assign(fastest_first.begin(), fastest_first.end());
  return changes;
}

void BaseShares::fill(const Demand& demand, const IdVector<UserId, std::int64_t>& tickets,
                      const UserGroups& groups) {
  weights_.clear();
  rest_.clear();
  groups_.clear();
  quota_left_ = groups.quotas();
  const std::span<const UserId> active = demand.active();
  for (UserId user : active) {
    groups_.push_back(groups.of(user));
    weights_.push_back(static_cast<double>(tickets[user]));
    rest_.push_back(static_cast<double>(demand.of(user)));
  }
  filled_.resize(active.size());
  for (GpuTypeId type : type_order_) {
    fill_type(type, groups);
    for (std::size_t i = 0; i < active.size(); ++i) {
      base_(active[i], type) = filled_[i];
      rest_[i] = std::max(0.0, rest_[i] - filled_[i]);
    }
  }
}

void BaseShares::fill_type(GpuTypeId type, const UserGroups& groups) {
  const auto gpus = static_cast<double>(capacity_[type]);
  if (groups.size() == 0) return filling_.fill(gpus, weights_, rest_, filled_);
  grouped_.fill({.amount = gpus,
                 .weights = weights_,
                 .caps = rest_,
                 .groups = groups_,
                 .group_weights = groups.tickets(),
                 .group_caps = quota_left_},
                filled_);
  for (std::size_t i = 0; i < filled_.size(); ++i) {
    if (groups_[i] == UserGroups::kNone) continue;
    double& left = quota_left_[groups_[i]];
    left = std::max(0.0, left - filled_[i]);
  }
}

void BaseShares::forget(UserId user) {
  for (GpuTypeId type : ids<GpuTypeId>(base_.types())) base_(user, type) = 0;
}

double BaseShares::of(UserId user) const {
  double all = 0;
  for (GpuTypeId type : ids<GpuTypeId>(base_.types())) all += base_(user, type);
  return all;
}

void BaseShares::fields_of_types(Archive& archive) {
  archive.sized(capacity_, base_.types());
  archive.sized(type_order_, base_.types());
}

}  // namespace fairlead
