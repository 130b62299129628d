#include "fairlead/solve/fair_share.h"

#include <algorithm>

namespace fairlead {

std::vector<double> fair_share(std::span<const Claim> claims, std::int64_t gpus) {
  FL_CHECK(gpus >= 0, "{} GPUs", gpus);
  std::vector<double> shares(claims.size(), 0.0);
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < claims.size(); ++i) {
    if (claims[i].demand > 0) open.push_back(i);
  }
  std::int64_t left = gpus;
  while (!open.empty()) {
    std::int64_t tickets = 0;
    for (std::size_t i : open) tickets += claims[i].tickets;
    const auto satisfied = [&, pool = left](std::size_t i) {
      return Int128{claims[i].demand} * tickets <= Int128{pool} * claims[i].tickets;
    };
    const auto first_short = std::stable_partition(open.begin(), open.end(), satisfied);
    if (first_short == open.begin()) {
      for (std::size_t i : open) {
        shares[i] = static_cast<double>(left) * static_cast<double>(claims[i].tickets) /
                    static_cast<double>(tickets);
      }
      break;
    }
    for (auto it = open.begin(); it != first_short; ++it) {
      shares[*it] = static_cast<double>(claims[*it].demand);
      left -= claims[*it].demand;
    }
    open.erase(open.begin(), first_short);
  }
  return shares;
}

UserId FairShareMeter::add_user(std::int64_t tickets) {
  FL_CHECK(tickets >= 1, "tickets {}", tickets);
  claims_.push_back({tickets, 0});
  settled_.push_back(0);
  marks_.push_back(0);
  short_since_.push_back(Time{});
  short_until_.push_back(Time{-1});
  return UserId(claims_.size() - 1);
}

void FairShareMeter::set_gpus(Time now, std::int64_t gpus) {
  FL_CHECK(gpus >= 0, "{} GPUs", gpus);
  advance(now);
  gpus_ = gpus;
  rebalance();
}

void FairShareMeter::add_demand(Time now, UserId user, std::int64_t gpus) {
  FL_CHECK(user.row() < claims_.size(), "user {} of {}", user.row(), claims_.size());
  const Claim& claim = claims_[user.row()];
  FL_CHECK(claim.demand + gpus >= 0, "user {} with demand {}", user.row(), claim.demand + gpus);
  change_claim(now, user, {claim.tickets, claim.demand + gpus});
}

void FairShareMeter::set_tickets(Time now, UserId user, std::int64_t tickets) {
  FL_CHECK(user.row() < claims_.size(), "user {} of {}", user.row(), claims_.size());
  FL_CHECK(tickets >= 1, "tickets {}", tickets);
  change_claim(now, user, {tickets, claims_[user.row()].demand});
}

void FairShareMeter::change_claim(Time now, UserId user, Claim claim) {
  advance(now);
  settle(user);
  const bool was_short = is_short(user);
  leave(user);
  claims_[user.row()] = claim;
  if (claim.demand > 0) join(user, !was_short);
  rebalance();
}

double FairShareMeter::share(UserId user) const {
  FL_DCHECK(user.row() < claims_.size(), "user {} of {}", user.row(), claims_.size());
  const Claim& claim = claims_[user.row()];
  return is_short(user) ? level_ * static_cast<double>(claim.tickets)
                        : static_cast<double>(claim.demand);
}

Time FairShareMeter::short_since(UserId user) const {
  return is_short(user) ? short_since_[user.row()] : Time::never();
}

double FairShareMeter::entitled_gpu_ms(UserId user, Time now) const {
  FL_CHECK(now >= now_, "{} ms is before {} ms", now.ms, now_.ms);
  const std::size_t row = user.row();
  const Claim& claim = claims_[row];
  if (is_short(user)) {
    const double level_integral = level_integral_ + level_ * static_cast<double>(now.ms - now_.ms);
    return settled_[row] + static_cast<double>(claim.tickets) * (level_integral - marks_[row]);
  }
  return settled_[row] +
         static_cast<double>(claim.demand) * (static_cast<double>(now.ms) - marks_[row]);
}

void FairShareMeter::advance(Time now) {
  FL_CHECK(now >= now_, "{} ms is before {} ms", now.ms, now_.ms);
  if (tickets_short_ > 0) level_integral_ += level_ * static_cast<double>(now.ms - now_.ms);
  now_ = now;
}

void FairShareMeter::settle(UserId user) { settled_[user.row()] = entitled_gpu_ms(user, now_); }

void FairShareMeter::join(UserId user, bool satisfied) {
  const Claim& claim = claims_[user.row()];
  const Need need{claim.demand, claim.tickets};
  if (satisfied) {
    satisfied_.set(user, {need});
    demand_satisfied_ += claim.demand;
    marks_[user.row()] = static_cast<double>(now_.ms);
  } else {
    short_.set(user, need);
    tickets_short_ += claim.tickets;
    marks_[user.row()] = level_integral_;
    // A user that left and joins again at the same time was short all along.
    if (short_until_[user.row()] != now_) short_since_[user.row()] = now_;
  }
}

void FairShareMeter::leave(UserId user) {
  const Claim& claim = claims_[user.row()];
  if (short_.contains(user)) {
    short_.erase(user);
    tickets_short_ -= claim.tickets;
    short_until_[user.row()] = now_;
  } else if (satisfied_.contains(user)) {
    satisfied_.erase(user);
    demand_satisfied_ -= claim.demand;
  }
  marks_[user.row()] = static_cast<double>(now_.ms);
}

// Moves users across the split. Moving a user that needs more than the level to the short raises
// the level, to less than it needs. Moving a user that needs no more than the level to the
// satisfied does not lower it. So one pass in each direction is enough.
void FairShareMeter::rebalance() {
  const auto cross = [&](UserId user, bool to_satisfied) {
    settle(user);
    leave(user);
    join(user, to_satisfied);
  };
  const auto compare_to_level = [&](Need need) {
    return Int128{need.demand} * tickets_short_ <=>
           Int128{gpus_ - demand_satisfied_} * need.tickets;
  };
  while (!satisfied_.empty() && compare_to_level(satisfied_.top().key.need) > 0) {
    cross(satisfied_.top().id, false);
  }
  while (!short_.empty() && compare_to_level(short_.top().key) <= 0) cross(short_.top().id, true);
  level_ = tickets_short_ == 0 ? 0
                               : static_cast<double>(gpus_ - demand_satisfied_) /
                                     static_cast<double>(tickets_short_);
}

}  // namespace fairlead
