#include "fairlead/policy/hadar/prices.h"

namespace fairlead {

void HadarPrices::set(std::span<const Range> ranges, std::span<const std::uint32_t> capacity) {
  FL_CHECK(ranges.size() == capacity.size());
  types_.clear();
  for (std::size_t type = 0; type < ranges.size(); ++type) {
    const Range& range = ranges[type];
    FL_CHECK(range.full == 0 ? range.idle == 0 : range.idle > 0 && range.idle <= range.full,
             "prices {} to {}", range.idle, range.full);
    const double rise = range.idle == 0 ? 1 : range.full / range.idle;
    types_.push_back({.idle = range.idle, .rise = rise, .capacity = capacity[type]});
  }
}

}  // namespace fairlead
