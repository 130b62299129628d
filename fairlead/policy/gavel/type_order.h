// The order in which GPU types choose among the jobs at the beginning of a round of Gavel (rounds.h).
#pragma once

#include "fairlead/base/rng.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace fairlead {

// Returns fast types first: by the sum over the jobs of their throughput there, each relative to
// its fastest type; equal ones in the order of the cluster. `throughputs`: jobs x types, row by
// row.
std::vector<std::uint32_t> types_by_speed(std::size_t types, std::span<const double> throughputs);

// Returns a random order. The authors' simulator draws one each round for rules that know no
// speeds.
std::vector<std::uint32_t> shuffled_types(std::size_t types, Rng rng);

}  // namespace fairlead
