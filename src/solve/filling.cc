#include "fairlead/solve/filling.h"

#include "fairlead/base/check.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace fairlead {

void ProgressiveFilling::fill(double amount, std::span<const double> weights,
                              std::span<const double> caps, std::span<double> shares) {
  FL_CHECK(weights.size() == caps.size() && caps.size() == shares.size(), "{} {} {}",
           weights.size(), caps.size(), shares.size());
  FL_CHECK(amount >= 0, "amount {}", amount);
  claims_.clear();
  for (std::size_t i = 0; i < weights.size(); ++i) {
    FL_DCHECK(weights[i] > 0 && caps[i] >= 0, "weight {}, cap {}", weights[i], caps[i]);
    claims_.push_back({caps[i] / weights[i], weights[i], caps[i], i});
  }
  // Claims that compare equal are alike, so the order of the input leaves no trace.
  std::ranges::sort(claims_, {}, [](const Claim& claim) {
    return std::tuple(claim.need, claim.weight, claim.cap);
  });
  // Sums from the end, so that no weight is ever subtracted: `shares` holds the weight of the
  // claims from each one on until the share takes its place.
  double weight = 0;
  for (std::size_t i = claims_.size(); i-- > 0;) {
    weight += claims_[i].weight;
    shares[claims_[i].row] = weight;
  }
  double left = amount;
  double level = std::numeric_limits<double>::infinity();
  for (const Claim& claim : claims_) {
    const double level_now = left / shares[claim.row];
    if (level_now < claim.need) {
      level = level_now;
      break;
    }
    left = std::max(0.0, left - claim.cap);
  }
  FL_DCHECK(left >= 0 && level >= 0, "{} left at level {}", left, level);
  for (const Claim& claim : claims_) {
    shares[claim.row] = claim.need <= level ? claim.cap : std::min(claim.cap, level * claim.weight);
  }
}

namespace {

std::size_t jobs_begin(const NestedClaims& claims, std::size_t user) {
  return user == 0 ? 0 : claims.jobs_end[user - 1];
}

}  // namespace

void NestedFilling::fill(const NestedClaims& claims, std::span<double> user_shares,
                         std::span<double> job_shares) {
  const std::size_t users = claims.tickets.size();
  FL_CHECK(claims.jobs_end.size() == users && user_shares.size() == users);
  FL_CHECK(job_shares.size() == claims.gangs.size());
  FL_CHECK(users == 0 || claims.jobs_end.back() == claims.gangs.size());
  FL_CHECK(claims.groups.empty() || claims.groups.size() == users);
  FL_DCHECK(std::ranges::is_sorted(claims.jobs_end), "the jobs of users overlap");
  sum_user_caps(claims);
  if (claims.groups.empty()) {
    filling_.fill(claims.gpus, claims.tickets, user_caps_, user_shares);
  } else {
    fill_groups(claims, user_shares);
  }
  ones_.resize(std::max(ones_.size(), claims.gangs.size()), 1.0);
  for (std::size_t user = 0; user < users; ++user) {
    const std::size_t first = jobs_begin(claims, user);
    const std::size_t count = claims.jobs_end[user] - first;
    filling_.fill(user_shares[user], std::span(ones_).first(count),
                  claims.gangs.subspan(first, count), job_shares.subspan(first, count));
  }
}

void NestedFilling::sum_user_caps(const NestedClaims& claims) {
  user_caps_.clear();
  for (std::size_t user = 0; user < claims.tickets.size(); ++user) {
    const std::size_t first = jobs_begin(claims, user);
    const auto gangs = claims.gangs.subspan(first, claims.jobs_end[user] - first);
    user_caps_.push_back(std::accumulate(gangs.begin(), gangs.end(), 0.0));
  }
}

void NestedFilling::fill_groups(const NestedClaims& claims, std::span<double> user_shares) {
  const std::size_t groups = claims.group_tickets.size();
  top_weights_.assign(claims.group_tickets.begin(), claims.group_tickets.end());
  top_caps_.assign(groups, 0.0);
  loose_.clear();
  members_end_.assign(groups + 1, 0);
  for (std::uint32_t user = 0; user < claims.groups.size(); ++user) {
    const std::uint32_t group = claims.groups[user];
    if (group == NestedClaims::kNoGroup) {
      loose_.push_back(user);
      top_weights_.push_back(claims.tickets[user]);
      top_caps_.push_back(user_caps_[user]);
    } else {
      FL_CHECK(group < groups, "group {} of {}", group, groups);
      top_caps_[group] += user_caps_[user];
      ++members_end_[group + 1];
    }
  }
  top_shares_.resize(top_weights_.size());
  filling_.fill(claims.gpus, top_weights_, top_caps_, top_shares_);
  for (std::size_t i = 0; i < loose_.size(); ++i) user_shares[loose_[i]] = top_shares_[groups + i];

  // A counting sort by group: members_end_[g] begins as the start of group g and ends as its end.
  std::partial_sum(members_end_.begin(), members_end_.end(), members_end_.begin());
  members_.resize(claims.groups.size() - loose_.size());
  for (std::uint32_t user = 0; user < claims.groups.size(); ++user) {
    const std::uint32_t group = claims.groups[user];
    if (group != NestedClaims::kNoGroup) members_[members_end_[group]++] = user;
  }
  std::size_t first = 0;
  for (std::size_t group = 0; group < groups; ++group) {
    const auto members = std::span(members_).subspan(first, members_end_[group] - first);
    first = members_end_[group];
    member_tickets_.clear();
    member_caps_.clear();
    for (std::uint32_t user : members) {
      member_tickets_.push_back(claims.tickets[user]);
      member_caps_.push_back(user_caps_[user]);
    }
    member_shares_.resize(members.size());
    filling_.fill(top_shares_[group], member_tickets_, member_caps_, member_shares_);
    for (std::size_t i = 0; i < members.size(); ++i) user_shares[members[i]] = member_shares_[i];
  }
}

namespace {

struct PlainClaim {
  double weight = 1;
  double cap = 0;
};

// Round after round, a claim that needs no more than an equal level gets all it can use; when no
// further claim is satisfied, the rest is split by weight.
std::vector<double> plain_filling(double amount, std::span<const PlainClaim> claims) {
  std::vector<double> shares(claims.size(), 0.0);
  std::vector<std::size_t> open(claims.size());
  std::iota(open.begin(), open.end(), std::size_t{0});
  double left = amount;
  while (!open.empty()) {
    double weight = 0;
    for (std::size_t i : open) weight += claims[i].weight;
    const double level = std::max(0.0, left) / weight;
    const auto is_short = [&](std::size_t i) { return claims[i].cap > level * claims[i].weight; };
    const auto satisfied = std::stable_partition(open.begin(), open.end(), is_short);
    if (satisfied == open.end()) {
      for (std::size_t i : open) shares[i] = level * claims[i].weight;
      break;
    }
    for (auto it = satisfied; it != open.end(); ++it) left -= shares[*it] = claims[*it].cap;
    open.erase(satisfied, open.end());
  }
  return shares;
}

}  // namespace

std::vector<std::vector<double>> nested_fair_share(double gpus, std::span<const NestedUser> users,
                                                   std::span<const double> group_tickets) {
  // Top level: the groups, then one group of its own for each user without.
  std::vector<PlainClaim> top;
  for (double tickets : group_tickets) top.push_back({tickets, 0});
  std::vector<std::vector<std::size_t>> members(group_tickets.size());
  std::vector<PlainClaim> claims;
  for (std::size_t user = 0; user < users.size(); ++user) {
    const auto& [tickets, gangs, group] = users[user];
    claims.push_back({tickets, std::accumulate(gangs.begin(), gangs.end(), 0.0)});
    if (group == NestedClaims::kNoGroup) {
      top.push_back({tickets, claims[user].cap});
      members.push_back({user});
    } else {
      top[group].cap += claims[user].cap;
      members[group].push_back(user);
    }
  }
  std::vector<std::vector<double>> shares(users.size());
  const std::vector<double> top_shares = plain_filling(gpus, top);
  for (std::size_t i = 0; i < top.size(); ++i) {
    std::vector<PlainClaim> inside;
    for (std::size_t user : members[i]) inside.push_back(claims[user]);
    const std::vector<double> user_shares = plain_filling(top_shares[i], inside);
    for (std::size_t k = 0; k < inside.size(); ++k) {
      std::vector<PlainClaim> jobs;
      for (double gang : users[members[i][k]].gangs) jobs.push_back({1, gang});
      shares[members[i][k]] = plain_filling(user_shares[k], jobs);
    }
  }
  return shares;
}

}  // namespace fairlead
