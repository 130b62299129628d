// Quantiles of all values by nearest rank: the smallest value that at least so many percent of all do not exceed.
#pragma once

#include "fairlead/base/units.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace fairlead {

// Changes the order of the values. REQUIRES: values is not empty; percent <= 100. O(values).
template <class Number>
Number quantile(std::vector<Number>& values, std::size_t percent) {
  const std::size_t rank = (values.size() * percent + 99) / 100;
  const auto nth = values.begin() + static_cast<std::ptrdiff_t>(std::max<std::size_t>(rank, 1) - 1);
  std::nth_element(values.begin(), nth, values.end());
  return *nth;
}

// The same of times, in seconds.
inline double quantile_s(std::vector<std::int64_t>& values_ms, std::size_t percent) {
  return to_seconds(Duration{quantile(values_ms, percent)});
}

}  // namespace fairlead
