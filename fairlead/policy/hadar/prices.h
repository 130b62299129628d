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
// set: O(types). price: O(1), a power. No allocation once warm.
#pragma once

#include "fairlead/base/ids.h"

#include <cmath>
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
    const Type& of = types_[type.row()];
    FL_DCHECK(free <= of.capacity);
    if (of.idle == 0) return 0;
    const double given = of.capacity == 0 ? 1 : 1 - static_cast<double>(free) / of.capacity;
    return of.idle * std::pow(of.rise, given);
  }

 private:
  struct Type {
    double idle;  // Umin
    double rise;  // Umax / Umin
    std::uint32_t capacity;
  };
  std::vector<Type> types_;
};

}  // namespace fairlead
