// HadarClearing: prices per GPU type at which what jobs want meets what there is, and the bound on
// a round's worth that they give (ours; Hadar's dual seen from its other side).
//
// With any prices, no choice of gangs is worth more than what the free GPUs cost together plus
// what each job would gain by itself at these prices. The prices that make this least are sought
// type by type: each in turn is what the first job that gets none of the type would pay for a GPU.
//
// fit: O(types x (types x bids + winners x log bids)). The others: O(types) at most. No allocation
// once warm.
#pragma once

#include "fairlead/policy/hadar/gangs.h"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

namespace fairlead {

class HadarClearing {
 public:
  // Finds the prices for these bids and GPUs.
  void fit(const Cluster& cluster, std::span<const HadarBid> bids, const HadarFree& free);

  // 0 where every bidder can have the type.
  double price(GpuTypeId type) const { return prices_[type.row()]; }
  // What the GPUs of the gang, or all that are free, cost.
  double cost(const Cluster& cluster, Gang gang) const;
  double cost(const HadarFree& free) const;
  // What the bid of that position gains at most with a gang at these prices; below 0: what it loses
  // at least.
  double surplus(std::size_t bid) const { return surplus_[bid]; }
  // The most that the bid gains, at least 0, as it may do without.
  double gain(std::size_t bid) const { return std::max(0.0, surplus_[bid]); }

 private:
  double clear(const Cluster& cluster, std::span<const HadarBid> bids, GpuTypeId type,
               std::uint32_t gpus);
  // O(types + slices held).
  double find_surplus(const Cluster& cluster, std::span<const HadarBid> bids,
                      std::size_t bid) const;

  std::vector<double> prices_;                            // by type
  std::vector<double> last_prices_;                       // of the pass before
  std::vector<double> best_;                              // by bid and type: HadarBid::best_on
  std::vector<double> surplus_;                           // by bid
  std::vector<std::pair<double, std::uint32_t>> offers_;  // for a GPU, and how many
};

}  // namespace fairlead
