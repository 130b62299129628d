#include "fairlead/solve/grouped_filling.h"

#include "fairlead/base/check.h"

#include <algorithm>
#include <numeric>

namespace fairlead {

void GroupedFilling::fill(const GroupedClaims& claims, std::span<double> shares) {
  FL_CHECK(claims.groups.size() == claims.weights.size() && shares.size() == claims.caps.size());
  FL_CHECK(claims.group_caps.empty() || claims.group_caps.size() == claims.group_weights.size());
  fill_top(claims, shares);
  sort_by_group(claims);
  std::size_t first = 0;
  for (std::size_t group = 0; group < claims.group_weights.size(); ++group) {
    const auto members = std::span(members_).subspan(first, members_end_[group] - first);
    first = members_end_[group];
    member_weights_.clear();
    member_caps_.clear();
    for (std::uint32_t claim : members) {
      member_weights_.push_back(claims.weights[claim]);
      member_caps_.push_back(claims.caps[claim]);
    }
    member_shares_.resize(members.size());
    filling_.fill(top_shares_[group], member_weights_, member_caps_, member_shares_);
    for (std::size_t i = 0; i < members.size(); ++i) shares[members[i]] = member_shares_[i];
  }
}

void GroupedFilling::fill_top(const GroupedClaims& claims, std::span<double> shares) {
  const std::size_t groups = claims.group_weights.size();
  top_weights_.assign(claims.group_weights.begin(), claims.group_weights.end());
  top_caps_.assign(groups, 0.0);
  loose_.clear();
  for (std::uint32_t claim = 0; claim < claims.groups.size(); ++claim) {
    const std::uint32_t group = claims.groups[claim];
    if (group == GroupedClaims::kNoGroup) {
      loose_.push_back(claim);
      top_weights_.push_back(claims.weights[claim]);
      top_caps_.push_back(claims.caps[claim]);
    } else {
      FL_CHECK(group < groups, "group {} of {}", group, groups);
      top_caps_[group] += claims.caps[claim];
    }
  }
  for (std::size_t group = 0; group < claims.group_caps.size(); ++group) {
    top_caps_[group] = std::min(top_caps_[group], claims.group_caps[group]);
  }
  top_shares_.resize(top_weights_.size());
  filling_.fill(claims.amount, top_weights_, top_caps_, top_shares_);
  for (std::size_t i = 0; i < loose_.size(); ++i) shares[loose_[i]] = top_shares_[groups + i];
}

// A counting sort: members_end_[g] is first the start of group g and at last its end.
void GroupedFilling::sort_by_group(const GroupedClaims& claims) {
  members_end_.assign(claims.group_weights.size() + 1, 0);
  for (std::uint32_t group : claims.groups) {
    if (group != GroupedClaims::kNoGroup) ++members_end_[group + 1];
  }
  std::partial_sum(members_end_.begin(), members_end_.end(), members_end_.begin());
  members_.resize(members_end_.back());
  for (std::uint32_t claim = 0; claim < claims.groups.size(); ++claim) {
    const std::uint32_t group = claims.groups[claim];
    if (group != GroupedClaims::kNoGroup) members_[members_end_[group]++] = claim;
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

std::vector<double> grouped_fair_share(const GroupedClaims& claims) {
  // The groups, then one group of its own for each claim without.
  std::vector<PlainClaim> top;
  std::vector<std::vector<std::size_t>> members(claims.group_weights.size());
  for (double weight : claims.group_weights) top.push_back({weight, 0});
  for (std::size_t claim = 0; claim < claims.weights.size(); ++claim) {
    const std::uint32_t group = claims.groups[claim];
    if (group == GroupedClaims::kNoGroup) {
      top.push_back({claims.weights[claim], claims.caps[claim]});
      members.push_back({claim});
    } else {
      top[group].cap += claims.caps[claim];
      members[group].push_back(claim);
    }
  }
  for (std::size_t group = 0; group < claims.group_caps.size(); ++group) {
    top[group].cap = std::min(top[group].cap, claims.group_caps[group]);
  }
  std::vector<double> shares(claims.weights.size());
  const std::vector<double> top_shares = plain_filling(claims.amount, top);
  for (std::size_t i = 0; i < top.size(); ++i) {
    std::vector<PlainClaim> inside;
    for (std::size_t claim : members[i]) {
      inside.push_back({claims.weights[claim], claims.caps[claim]});
    }
    const std::vector<double> inner = plain_filling(top_shares[i], inside);
    for (std::size_t k = 0; k < inner.size(); ++k) shares[members[i][k]] = inner[k];
  }
  return shares;
}

}  // namespace fairlead
