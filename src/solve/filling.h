// Progressive filling with real amounts, as policies need it every quantum.
//
// Weighted max-min: every claim gets the same level per unit of weight, except that no claim gets
// more than its cap; what a satisfied claim leaves over raises the level of the others.
//
// ProgressiveFilling shares one amount among equals. NestedFilling shares GPUs by tickets: among
// users, and each user's share equally among its jobs, a job never getting more than its gang. What
// a job cannot use goes to the same user's other jobs, and what a user cannot use to other users
// (Gandiva_fair, EuroSys 2020, slides). Groups of users above are ours.
//
// Both allocate nothing once their workspace has reached its largest size, and a permutation of the
// claims permutes the shares of ProgressiveFilling bit by bit.
//
// fair_share.h has the same shares in exact integers, kept while demands change.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace fairlead {

class ProgressiveFilling {
 public:
  // shares[i] = min(caps[i], level * weights[i]) with the level at which the shares add up to
  // min(amount, sum of caps). REQUIRES: equal lengths, amount >= 0, finite weights > 0, finite caps
  // >= 0. O(n log n).
  void fill(double amount, std::span<const double> weights, std::span<const double> caps,
            std::span<double> shares);

 private:
  struct Claim {
    double need;  // the level that satisfies it
    double weight;
    double cap;
    std::size_t row;
  };
  std::vector<Claim> claims_;  // by need
};

// Users and their jobs in columns. A group is a set of users that share the tickets of the group;
// a user without a group is a group of its own and counts with its own tickets. So the top level
// compares the tickets of groups with those of users without one; a group's users then share what
// it gets by their own tickets.
struct NestedClaims {
  static constexpr std::uint32_t kNoGroup = std::numeric_limits<std::uint32_t>::max();

  double gpus = 0;
  std::span<const double> tickets;          // of each user, > 0
  std::span<const std::uint32_t> jobs_end;  // user u's jobs: rows jobs_end[u-1] .. jobs_end[u]-1
  std::span<const double> gangs;            // of each job, the most it can use, >= 0
  std::span<const std::uint32_t> groups;    // of each user, or kNoGroup; empty: no user has one
  std::span<const double> group_tickets;    // of each group, > 0
};

class NestedFilling {
 public:
  // Fills in each user's share and each job's, in GPUs. O(n log n) for n users and jobs.
  void fill(const NestedClaims& claims, std::span<double> user_shares,
            std::span<double> job_shares);

 private:
  void sum_user_caps(const NestedClaims& claims);
  void fill_groups(const NestedClaims& claims, std::span<double> user_shares);

  ProgressiveFilling filling_;
  std::vector<double> user_caps_;
  std::vector<double> ones_;
  // Of the top level: the groups, then the users without one.
  std::vector<double> top_weights_;
  std::vector<double> top_caps_;
  std::vector<double> top_shares_;
  std::vector<std::uint32_t> loose_;  // the users without a group
  // The users of each group, next to each other.
  std::vector<std::uint32_t> members_end_;
  std::vector<std::uint32_t> members_;
  std::vector<double> member_tickets_;
  std::vector<double> member_caps_;
  std::vector<double> member_shares_;
};

// The plain version of NestedFilling, the oracle of tests: it reads like the definition.
struct NestedUser {
  double tickets = 1;  // > 0
  std::vector<double> gangs;
  std::uint32_t group = NestedClaims::kNoGroup;
};
// The share of each job of each user, in GPUs. O(n^2).
std::vector<std::vector<double>> nested_fair_share(double gpus, std::span<const NestedUser> users,
                                                   std::span<const double> group_tickets = {});

}  // namespace fairlead
