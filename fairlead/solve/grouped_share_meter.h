// Fair shares of a pool of GPUs by tickets among groups of users and the users in them
// (grouped_filling.h). They are kept while demands change, and integrated over time: the figures of
// FairShareMeter for groups.
//
// A change costs O(n log n) for n users with demand, and O(groups). Times passed never go back.
#pragma once

#include "fairlead/base/ids.h"
#include "fairlead/base/units.h"
#include "fairlead/solve/fair_share.h"
#include "fairlead/solve/grouped_filling.h"

#include <cstdint>
#include <vector>

namespace fairlead {

class GroupedShareMeter {
 public:
  // Continues from a meter without groups.
  explicit GroupedShareMeter(const FairShareMeter& flat);

  // Adds the next group. `quota`: the most GPUs that its users are entitled to together; 0: any
  // number. REQUIRES: tickets >= 1, quota >= 0.
  void add_group(std::int64_t tickets, std::int64_t quota);
  // Adds the next user, with no demand. REQUIRES: tickets >= 1; the group was added, or is none.
  void add_user(std::int64_t tickets, GroupId group);
  // See FairShareMeter.
  void set_gpus(Time now, std::int64_t gpus);
  void add_demand(Time now, UserId user, std::int64_t gpus);
  void set_tickets(Time now, UserId user, std::int64_t tickets);

  double share(UserId user) const { return users_[user].share; }
  Time short_since(UserId user) const;
  // Returns true if users ask for more GPUs than there are, or than their groups' quotas allow.
  bool any_short() const { return short_ > 0; }
  double entitled_gpu_ms(UserId user, Time now) const;

 private:
  struct User {
    Claim claim;
    std::uint32_t group = GroupedClaims::kNoGroup;
    double share = 0;
    double settled = 0;  // the integral of the share up to now_
    bool is_short = false;
    Time short_since{};
    Time short_until{-1};  // when it last was
  };

  void advance(Time now);
  void fill();
  void set_share(User& user, double share);

  IdVector<UserId, User> users_;
  std::vector<UserId> active_;  // those with demand
  std::vector<double> group_tickets_;
  std::vector<double> quotas_;
  std::int64_t gpus_ = 0;
  std::int64_t short_ = 0;  // users
  Time now_;

  // Workspace, of active_.
  GroupedFilling filling_;
  std::vector<double> tickets_;
  std::vector<double> demands_;
  std::vector<std::uint32_t> groups_;
  std::vector<double> shares_;
};

}  // namespace fairlead
