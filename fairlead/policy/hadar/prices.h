// HadarPrices: the price of a GPU of each type in one round of Hadar (IPDPS 2024; the constants are
// reconstructed).
//
// k = Umin * (Umax / Umin) ^ (given / capacity), per type, with `given` of `capacity` GPUs given
// out so far: Umin when idle, so that every job buys, Umax when full, so that none does.
//
// DEVIATION: the paper prices each node. The cheapest node is then the emptiest, and buying there
// breaks up the room for larger gangs. So a type has one price here, and its nodes are chosen by
// fit.
//
// set: O(capacity). price: O(1). No allocation once warm.
#pragma once

#include "fairlead/base/ids.h"

#include <cstdint>
#include <span>
#include <vector>

namespace fairlead {

class HadarPrices {
 public:
  struct Range {
    double idle = 0;  // Umin
    double full = 0;  // Umax
  };

  // One round's prices. REQUIRES: equally many types in both; 0 < idle <= full, or both are 0.
  void set(std::span<const Range> ranges, std::span<const std::uint32_t> capacity);

  // Returns the price of one GPU of the type, when `free` of its capacity are not given out yet.
  // REQUIRES: free <= capacity.
  double price(GpuTypeId type, std::uint32_t free) const {
    FL_DCHECK(free < rows_[type.row() + 1] - rows_[type.row()]);
    return prices_[rows_[type.row()] + free];
  }

 private:
  std::vector<std::size_t> rows_;  // start of each type's prices, and the end
  std::vector<double> prices_;     // by type and GPUs that are free
};

}  // namespace fairlead
