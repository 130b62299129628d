#include "fairlead/policy/gavel/type_order.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

namespace fairlead {
namespace {

std::vector<std::uint32_t> in_order(std::size_t types) {
  std::vector<std::uint32_t> order(types);
  std::iota(order.begin(), order.end(), 0U);
  return order;
}

}  // namespace

std::vector<std::uint32_t> types_by_speed(std::size_t types, std::span<const double> throughputs) {
  std::vector<double> speed(types);
  for (std::size_t first = 0; first < throughputs.size(); first += types) {
    const std::span row = throughputs.subspan(first, types);
    const double fastest = std::ranges::max(row);
    for (std::size_t type = 0; type < types && fastest > 0; ++type) {
      speed[type] += row[type] / fastest;
    }
  }
  std::vector<std::uint32_t> order = in_order(types);
  std::ranges::stable_sort(order, std::greater<>(),
                           [&](std::uint32_t type) { return speed[type]; });
  return order;
}

std::vector<std::uint32_t> shuffled_types(std::size_t types, Rng rng) {
  std::vector<std::uint32_t> order = in_order(types);
  for (std::size_t left = types; left > 1; --left) {
    std::swap(order[left - 1], order[rng.below(left)]);
  }
  return order;
}

}  // namespace fairlead
