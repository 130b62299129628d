// Progressive filling with real amounts, as policies need it every quantum.
//
// Weighted max-min: every claim gets the same level per unit of weight, but no claim gets more than
// its cap: the surplus of a satisfied claim raises the level of the others.
//
// It allocates nothing once its workspace has reached its largest size, and a permutation of the
// claims permutes the shares bit by bit.
//
// grouped_filling.h does the same in two levels. fair_share.h has the same shares in exact integers,
// kept while demands change.
#pragma once

#include <cstddef>
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

}  // namespace fairlead
