// HadarClearing: prices per GPU type at which demand meets supply, and the bound on a round's worth
// that follows from them (ours; the other side of Hadar's dual).
//
// With any prices, no choice of gangs is worth more than the cost of all free GPUs plus each job's
// own gain at these prices. The prices that minimise this bound are sought type by type. Each price
// in turn becomes the amount per GPU that the first job without the type would pay.
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

  // 0 if every bidder can have the type.
  double price(GpuTypeId type) const { return prices_[type.row()]; }
  // Returns the cost of the GPUs of the gang, or of all free GPUs.
  double cost(const Cluster& cluster, Gang gang) const;
  double cost(const HadarFree& free) const;
  // Returns the largest gain of the bid with a gang at these prices; below 0: its smallest loss.
  double surplus(std::size_t bid) const { return surplus_[bid]; }
  // Returns the largest gain of the bid, at least 0, because it may buy nothing.
  double gain(std::size_t bid) const { return std::max(0.0, surplus_[bid]); }

 private:
  double clear(const Cluster& cluster, std::span<const HadarBid> bids, GpuTypeId type,
               std::uint32_t gpus);
  // O(types + slices in use).
  double find_surplus(const Cluster& cluster, std::span<const HadarBid> bids,
                      std::size_t bid) const;

  std::vector<double> prices_;                            // by type
  std::vector<double> last_prices_;                       // prices of the pass before
  std::vector<double> best_;                              // by bid and type: HadarBid::best_on
  std::vector<double> surplus_;                           // by bid
  std::vector<std::pair<double, std::uint32_t>> offers_;  // for a GPU, and how many
};

}  // namespace fairlead
