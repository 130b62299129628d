// The entitlements of users by tickets, kept while demands change and integrated over time, for
// users with and without groups: FairShareMeter until there is a group, and GroupedShareMeter from
// then on. So the results of runs without groups are the same to the bit.
#pragma once

#include "fairlead/solve/fair_share.h"
#include "fairlead/solve/grouped_share_meter.h"

#include <cstdint>
#include <optional>

namespace fairlead {

// The functions are the same in both meters.
class ShareMeter {
 public:
  void add_group(std::int64_t tickets, std::int64_t quota) {
    if (!grouped_) grouped_.emplace(flat_);
    grouped_->add_group(tickets, quota);
  }
  void add_user(std::int64_t tickets, GroupId group = {}) {
    if (grouped_) return grouped_->add_user(tickets, group);
    FL_CHECK(group.is_none(), "group {} of none", group.row());
    flat_.add_user(tickets);
  }
  void set_gpus(Time now, std::int64_t gpus) {
    apply([&](auto& meter) { meter.set_gpus(now, gpus); });
  }
  void add_demand(Time now, UserId user, std::int64_t gpus) {
    apply([&](auto& meter) { meter.add_demand(now, user, gpus); });
  }
  void set_tickets(Time now, UserId user, std::int64_t tickets) {
    apply([&](auto& meter) { meter.set_tickets(now, user, tickets); });
  }

  double share(UserId user) const { return grouped_ ? grouped_->share(user) : flat_.share(user); }
  Time short_since(UserId user) const {
    return grouped_ ? grouped_->short_since(user) : flat_.short_since(user);
  }
  bool any_short() const { return grouped_ ? grouped_->any_short() : flat_.any_short(); }
  double entitled_gpu_ms(UserId user, Time now) const {
    return grouped_ ? grouped_->entitled_gpu_ms(user, now) : flat_.entitled_gpu_ms(user, now);
  }

 private:
  void apply(const auto& change) {
    if (grouped_) return change(*grouped_);
    change(flat_);
  }

  FairShareMeter flat_;
  std::optional<GroupedShareMeter> grouped_;
};

}  // namespace fairlead
