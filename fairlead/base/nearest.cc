#include "fairlead/base/nearest.h"

#include "fairlead/base/check.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <numeric>
#include <utility>

namespace fairlead {
namespace {

// Returns the insertions, deletions and replacements that turn one name into the other.
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

// Returns only the letters and digits, in lower case.
std::string plain(std::string_view name) {
  std::string text;
  for (const char c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0)
      text += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return text;
}

}  // namespace

std::string did_you_mean(const std::vector<std::string_view>& names, std::string_view wanted) {
  const std::string plain_wanted = plain(wanted);
  // A third of the letters may differ, or one name contains the other.
  std::size_t best = plain_wanted.size() / 3 + 1;
  std::string_view meant;
  for (const std::string_view name : names) {
    const std::string plain_name = plain(name);
    if (plain_name.empty() || plain_wanted.size() < 3) continue;
    const bool contains = plain_name.find(plain_wanted) != plain_name.npos;
    const std::size_t distance =
        contains ? plain_name != plain_wanted : edit_distance(plain_name, plain_wanted);
    if (distance >= best) continue;
    best = distance;
    meant = name;
  }
  return meant.empty() ? std::string() : fmt::format(" (did you mean {}?)", meant);
}

std::string nearest_first(std::vector<std::string_view> names, std::string_view wanted) {
  std::ranges::stable_sort(names, {}, [&](std::string_view name) {
    return std::pair(!name.starts_with(wanted), edit_distance(name, wanted));
  });
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace fairlead
