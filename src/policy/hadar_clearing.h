// HadarClearing: prices per GPU type at which what jobs want meets what there is, and the bound on
// a round's worth that they give (ours; Hadar's dual seen from its other side).
//
// With any prices, no choice of gangs is worth more than what the free GPUs cost together plus
// what each job would gain by itself at these prices. The prices that make this least are sought
// type by type: each in turn is what the first job that gets none of the type would pay for a GPU.
//
// fit: O(types x bids log bids). The others: O(types). No allocation once warm.
#pragma once

#include "policy/hadar_gangs.h"

#include <span>
#include <utility>
#include <vector>

namespace fairlead {

class HadarClearing {
 public:
  // Finds the prices for these bids and GPUs.
  void fit(const Cluster& cluster, std::span<const HadarBid> bids, const HadarFree& free);

  // 0 where everybody can have the type.
  double price(GpuTypeId type) const { return prices_[type.row()]; }
  // What the GPUs of the gang, or all that are free, cost.
  double cost(const Cluster& cluster, Gang gang) const;
  double cost(const HadarFree& free) const;
  // The most that the bid gains at these prices, at least 0. O(types + slices held).
  double gain(const Cluster& cluster, const HadarBid& bid) const;

 private:
  double clear(const Cluster& cluster, std::span<const HadarBid> bids, GpuTypeId type,
               std::uint32_t gpus);

  std::vector<double> prices_;                            // by type
  std::vector<std::pair<double, std::uint32_t>> offers_;  // for a GPU, and how many
};

}  // namespace fairlead
