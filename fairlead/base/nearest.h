// Suggestions for a name that does not exist.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fairlead {

// Returns the names, separated by commas, with the likeliest meanings of `wanted` first: names that it abbreviates,
// then by Levenshtein distance. O(names x lengths).
std::string nearest_first(std::vector<std::string_view> names, std::string_view wanted);

// Returns " (did you mean X?)" with the name that `wanted` probably misspells: equal apart from case and punctuation,
// or a few letters away. Returns "" if no name is close. O(names x lengths).
std::string did_you_mean(const std::vector<std::string_view>& names, std::string_view wanted);

}  // namespace fairlead
