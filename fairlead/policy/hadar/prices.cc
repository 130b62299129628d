#include "fairlead/policy/hadar/prices.h"

#include <cmath>

namespace fairlead {

void HadarPrices::set(std::span<const Range> ranges, std::span<const std::uint32_t> capacity) {
  FL_CHECK(ranges.size() == capacity.size());
  rows_.assign(1, 0);
  prices_.clear();
  for (std::size_t type = 0; type < ranges.size(); ++type) {
    const Range& range = ranges[type];
    FL_CHECK(range.full == 0 ? range.idle == 0 : range.idle > 0 && range.idle <= range.full,
             "prices {} to {}", range.idle, range.full);
    for (std::uint32_t free = 0; free <= capacity[type]; ++free) {
      const double given = capacity[type] == 0 ? 1 : 1 - static_cast<double>(free) / capacity[type];
      prices_.push_back(range.full == 0 ? 0
                                        : range.idle * std::pow(range.full / range.idle, given));
    }
    rows_.push_back(prices_.size());
  }
}

}  // namespace fairlead
