// Fair shares of a pool of GPUs by tickets: progressive filling (weighted max-min).
//
// Every user gets the same level of GPUs per ticket, but no user gets more than it can use: the
// surplus of a satisfied user raises the level of the others.
//
// fair_share is the plain version: it reads like the definition and is the oracle of the tests.
// FairShareMeter keeps the same shares while demands change, and integrates each user's share over
// time. share_meter.h does so for users in groups too.
#pragma once

#include "fairlead/base/ids.h"
#include "fairlead/base/indexed_heap.h"
#include "fairlead/base/units.h"

#include <compare>
#include <cstdint>
#include <span>
#include <vector>

namespace fairlead {

struct Claim {
  std::int64_t tickets = 1;  // at least 1
  std::int64_t demand = 0;   // GPUs the user can use now, at least 0
};

// Returns the share of each claim, in GPUs. O(claims^2).
std::vector<double> fair_share(std::span<const Claim> claims, std::int64_t gpus);

// Invariants:
//  1. Users with demand are split into the satisfied (demand <= level x tickets) and the short; the
//     split is decided in integers, so it is exact.
//  2. level = (GPUs - demand of the satisfied) / tickets of the short.
//  3. A user's integral is settled when its demand changes or it crosses the split; a short user's
//     share between is tickets x the integral of the level.
//
// A change costs O(log users) for the user and for each user that crosses the split because of it.
// Times passed never go back.
class FairShareMeter {
 public:
  // Adds the next user, with no demand. REQUIRES: tickets >= 1.
  UserId add_user(std::int64_t tickets);
  // Sets the pool to `gpus` GPUs from `now` on. REQUIRES: gpus >= 0.
  void set_gpus(Time now, std::int64_t gpus);
  // Changes the user's demand by `gpus` at `now`. REQUIRES: it does not become negative.
  void add_demand(Time now, UserId user, std::int64_t gpus);
  // Sets the user's tickets from `now` on. REQUIRES: tickets >= 1.
  void set_tickets(Time now, UserId user, std::int64_t tickets);

  const Claim& claim(UserId user) const { return claims_[user.row()]; }
  std::size_t users() const { return claims_.size(); }
  std::int64_t gpus() const { return gpus_; }
  Time now() const { return now_; }  // time of the last change
  // Returns the user's share now, in GPUs.
  double share(UserId user) const;
  // Returns the start of the present time in which the user's demand exceeds its share;
  // Time::never() if it does not now.
  Time short_since(UserId user) const;
  // Returns true if the users ask for more GPUs than there are.
  bool any_short() const { return tickets_short_ > 0; }
  // Returns the integral of the user's share up to `now`, in GPU-milliseconds. REQUIRES: now is not
  // before the last change.
  double entitled_gpu_ms(UserId user, Time now) const;

 private:
  // Demand per ticket, compared as an exact fraction.
  struct Need {
    std::int64_t demand;
    std::int64_t tickets;
    friend std::strong_ordering operator<=>(Need a, Need b) {
      return Int128{a.demand} * b.tickets <=> Int128{b.demand} * a.tickets;
    }
    friend bool operator==(Need a, Need b) { return (a <=> b) == 0; }
  };
  struct LargestFirst {
    Need need;
    friend auto operator<=>(LargestFirst a, LargestFirst b) { return b.need <=> a.need; }
    friend bool operator==(LargestFirst a, LargestFirst b) { return a.need == b.need; }
  };

  void advance(Time now);
  void change_claim(Time now, UserId user, Claim claim);
  void settle(UserId user);
  void join(UserId user, bool satisfied);
  void leave(UserId user);
  void rebalance();
  bool is_short(UserId user) const { return short_.contains(user); }

  std::vector<Claim> claims_;
  std::vector<double> settled_;  // integral up to the user's mark
  std::vector<double> marks_;    // short user: integral of the level; other users: milliseconds
  std::vector<Time> short_since_;
  std::vector<Time> short_until_;  // when it last left the short
  IndexedHeap<LargestFirst, UserId> satisfied_;
  IndexedHeap<Need, UserId> short_;
  std::int64_t gpus_ = 0;
  std::int64_t demand_satisfied_ = 0;
  std::int64_t tickets_short_ = 0;
  Time now_;
  double level_ = 0;           // GPUs per ticket of the short
  double level_integral_ = 0;  // over milliseconds
};

}  // namespace fairlead
