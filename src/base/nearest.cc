#include "fairlead/base/nearest.h"

#include "fairlead/base/check.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <utility>

namespace fairlead {
namespace {

// Insertions, deletions and replacements that turn one name into the other.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  const std::size_t distance = row.back();
  FL_DCHECK(distance <= std::max(a.size(), b.size()));
  return distance;
}

}  // namespace

std::string nearest_first(std::vector<std::string_view> names, std::string_view wanted) {
  std::ranges::stable_sort(names, {}, [&](std::string_view name) {
    return std::pair(!name.starts_with(wanted), edit_distance(name, wanted));
  });
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace fairlead
