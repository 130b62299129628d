// Weighted max-min in two levels: groups share an amount by their weights, and the claims of a
// group share its amount by their own. A claim without a group is a group of its own.
//
// The surplus of a claim goes to the others of its group first, then to other groups. A group gets
// no more than its cap, even if its claims could use more.
#pragma once

#include "fairlead/solve/filling.h"

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace fairlead {

struct GroupedClaims {
  static constexpr std::uint32_t kNoGroup = std::numeric_limits<std::uint32_t>::max();

  double amount = 0;
  std::span<const double> weights;          // weight of each claim, > 0
  std::span<const double> caps;             // the most it can use, >= 0
  std::span<const std::uint32_t> groups;    // its group, or kNoGroup
  std::span<const double> group_weights;    // weight of each group, > 0
  std::span<const double> group_caps = {};  // >= 0; empty: only its claims bound a group
};

class GroupedFilling {
 public:
  // Fills in the share of each claim. O(n log n) for n claims and groups; allocates nothing once its
  // workspace has reached its largest size.
  void fill(const GroupedClaims& claims, std::span<double> shares);

 private:
  void fill_top(const GroupedClaims& claims, std::span<double> shares);
  void sort_by_group(const GroupedClaims& claims);

  ProgressiveFilling filling_;
  // The top level: the groups, then the claims without one.
  std::vector<double> top_weights_;
  std::vector<double> top_caps_;
  std::vector<double> top_shares_;
  std::vector<std::uint32_t> loose_;  // the claims without a group
  // The claims of each group, next to each other.
  std::vector<std::uint32_t> members_end_;
  std::vector<std::uint32_t> members_;
  std::vector<double> member_weights_;
  std::vector<double> member_caps_;
  std::vector<double> member_shares_;
};

// The plain version, the oracle of tests: it reads like the definition. O(n^2).
std::vector<double> grouped_fair_share(const GroupedClaims& claims);

}  // namespace fairlead
