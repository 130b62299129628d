// BaseShares: the GPUs of each type that each user is due before trades (Gandiva_fair).
//
// Each GPU type is shared among the active users by tickets (progressive filling), the fastest type first. A user is capped
// at the rest of its demand. Groups, if there are any, share first, each capped at the rest of its quota, then the users of
// each (solve/grouped_filling.h).
//
// fill: O(active users x types), and a logarithm; no allocation once warm. All else O(1), or O(types).
#pragma once

#include "fairlead/base/archive.h"
#include "fairlead/model/cluster.h"
#include "fairlead/policy/gandiva_fair/by_user_and_type.h"
#include "fairlead/policy/gandiva_fair/demand.h"
#include "fairlead/policy/gandiva_fair/user_groups.h"
#include "fairlead/solve/filling.h"
#include "fairlead/solve/grouped_filling.h"

#include <cstdint>
#include <span>
#include <vector>

namespace fairlead {

class BaseShares {
 public:
  // Starts with the cluster's GPUs, and its types in their order.
  void begin(const Cluster& cluster);
  // REQUIRES: no fewer users than before, and as many types.
  void resize(std::size_t users, std::size_t types) { base_.resize(users, types); }

  // Set the GPUs of a type, and the order in which types are filled; from the next fill(). Return true if that is a change.
  bool set_capacity(GpuTypeId type, std::int64_t gpus);
  bool set_type_order(std::span<const GpuTypeId> fastest_first);
  // Updates all shares. `tickets`: by user.
  void fill(const Demand& demand, const IdVector<UserId, std::int64_t>& tickets,
            const UserGroups& groups);
  // Forgets a user that is not active any more.
  void forget(UserId user);

  std::int64_t capacity(GpuTypeId type) const { return capacity_[type]; }
  double of(UserId user, GpuTypeId type) const { return base_(user, type); }
  double of(UserId user) const;  // sum over all types

  // Archive the types, and the share of one user on one type.
  void fields_of_types(Archive& archive);
  void fields_of(Archive& archive, UserId user, GpuTypeId type) { archive(base_(user, type)); }

 private:
  void fill_type(GpuTypeId type, const UserGroups& groups);

  IdVector<GpuTypeId, std::int64_t> capacity_;
  std::vector<GpuTypeId> type_order_;
  ByUserAndType<double> base_;

  // Workspace; rows are the active users.
  ProgressiveFilling filling_;
  GroupedFilling grouped_;
  std::vector<double> weights_;
  std::vector<double> rest_;           // demand left
  std::vector<std::uint32_t> groups_;  // see UserGroups::of
  std::vector<double> filled_;
  std::vector<double> quota_left_;  // by group
};

}  // namespace fairlead
