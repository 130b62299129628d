// Pauses after failures in a row.
#pragma once

#include "fairlead/base/units.h"

#include <algorithm>
#include <cstdint>

namespace fairlead {

// Returns 0.25 s after the first failure, doubling up to 30 s, minus a random part of up to a half.
inline Duration backoff(int failures, std::uint64_t random) {
  const std::int64_t full = std::min<std::int64_t>(250LL << std::clamp(failures - 1, 0, 7), 30'000);
  return milliseconds(full -
                      static_cast<std::int64_t>(random % static_cast<std::uint64_t>(full / 2)));
}

}  // namespace fairlead
