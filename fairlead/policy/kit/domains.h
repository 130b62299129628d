// Domains: the sections of a cluster with members at most a tier apart: a node, a rack, or
// everything. A host with several GPU types is several nodes.
//
//   for (NodeRange rack : Domains(cluster, Tier::kRack)) ...
//
// `on(node)` below returns the GPUs of a node that count: the free ones, or all. Queries: O(nodes).
#pragma once

#include "fairlead/model/cluster.h"

#include <algorithm>
#include <cstdint>
#include <optional>

namespace fairlead {

class Domains {
 public:
  // The cluster must outlive it.
  Domains(const Cluster& cluster, Tier tier)
      : cluster_(cluster),
        tier_(tier),
        count_(tier == Tier::kSpine  ? 1
               : tier == Tier::kRack ? cluster.rack_nodes.size()
                                     : cluster.nodes()) {}

  std::size_t size() const { return count_; }
  NodeRange operator[](std::size_t i) const {
    if (tier_ == Tier::kSpine) return {0, static_cast<std::uint32_t>(cluster_.nodes())};
    if (tier_ == Tier::kRack) return cluster_.rack_nodes[RackId(i)];
    return {static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(i) + 1};
  }

  struct Iterator {
    const Domains& domains;
    std::size_t i;
    NodeRange operator*() const { return domains[i]; }
    Iterator& operator++() {
      ++i;
      return *this;
    }
    friend bool operator==(const Iterator& a, const Iterator& b) { return a.i == b.i; }
  };
  Iterator begin() const { return {*this, 0}; }
  Iterator end() const { return {*this, count_}; }

 private:
  const Cluster& cluster_;
  const Tier tier_;
  const std::size_t count_;
};

// Returns the counted GPUs of nodes of these types in the range.
template <class On>
std::uint32_t gpus_in(const Cluster& cluster, NodeRange range, TypeMask types, const On& on) {
  std::uint32_t gpus = 0;
  for (std::uint32_t row = range.begin; row < range.end; ++row) {
    const NodeId node(row);
    if ((types & type_bit(cluster.node_type[node])) != 0) gpus += on(node);
  }
  return gpus;
}

// Returns the most counted GPUs of one domain of the tier.
template <class On>
std::uint32_t most_in_domain(const Cluster& cluster, Tier tier, TypeMask types, const On& on) {
  std::uint32_t most = 0;
  for (NodeRange range : Domains(cluster, tier)) {
    most = std::max(most, gpus_in(cluster, range, types, on));
  }
  return most;
}

// Returns the domain of the tier with the fewest counted GPUs, but at least `gpus`. The first one
// wins a tie; none if no domain has as many.
template <class On>
std::optional<NodeRange> tightest_domain(const Cluster& cluster, Tier tier, TypeMask types,
                                         std::uint32_t gpus, const On& on) {
  std::optional<NodeRange> best;
  std::uint32_t least = 0;
  for (NodeRange range : Domains(cluster, tier)) {
    const std::uint32_t there = gpus_in(cluster, range, types, on);
    if (there < gpus || (best && there >= least)) continue;
    least = there;
    best = range;
  }
  return best;
}

}  // namespace fairlead
