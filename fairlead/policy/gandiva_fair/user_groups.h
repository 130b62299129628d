// UserGroups: the groups of users with their tickets and quotas, and the GPUs of the jobs that each group keeps
// (Gandiva_fair; ours, decision 0026).
//
// set: O(users + groups). All else O(1).
#pragma once

#include "fairlead/model/jobs.h"
#include "fairlead/policy/gandiva_fair/kept_gangs.h"
#include "fairlead/solve/grouped_filling.h"

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace fairlead {

class UserGroups {
 public:
  static constexpr std::uint32_t kNone = GroupedClaims::kNoGroup;
  static constexpr double kNoQuota = std::numeric_limits<double>::max();

  // Takes all groups from the users, with their tickets divided by `divisor`, and counts the kept jobs. To be called when a
  // user or group is new, or tickets changed. `kept` may have fewer users.
  void set(const Users& users, std::int64_t divisor, const KeptGangs& kept);
  // Counts GPUs of a job that the user keeps from now on; negative: no longer.
  void keep(UserId user, std::int64_t gpus) {
    if (group_[user] != kNone) kept_[group_[user]] += gpus;
  }

  std::size_t users() const { return group_.size(); }
  std::size_t size() const { return tickets_.size(); }
  // Returns the row of the user's group, or kNone.
  std::uint32_t of(UserId user) const { return group_[user]; }
  std::span<const double> tickets() const { return tickets_; }
  // GPUs, or kNoQuota, by group.
  const std::vector<double>& quotas() const { return quota_; }

  bool has_quota(UserId user) const {
    return group_[user] != kNone && quota_[group_[user]] != kNoQuota;
  }
  // Returns true if both users have the same group, and it has a quota.
  bool share_quota(UserId a, UserId b) const { return group_[a] == group_[b] && has_quota(a); }
  // Returns the GPUs of jobs that the user may keep in addition, by the quota of its group; kNoQuota without one. Negative
  // if the group keeps more than its quota.
  double left(UserId user) const {
    if (!has_quota(user)) return kNoQuota;
    return quota_[group_[user]] - static_cast<double>(kept_[group_[user]]);
  }

 private:
  IdVector<UserId, std::uint32_t> group_;  // or kNone
  std::vector<double> tickets_;
  std::vector<double> quota_;
  std::vector<std::int64_t> kept_;  // GPUs of the jobs that its users keep
};

}  // namespace fairlead
