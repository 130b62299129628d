// Suggestions for a name that does not exist.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fairlead {

// The names, separated by commas, the most likely meanings of `wanted` first: names that it
// abbreviates, then by Levenshtein distance. O(names x lengths).
std::string nearest_first(std::vector<std::string_view> names, std::string_view wanted);

// " (did you mean X?)" with the name that `wanted` may be a misspelling of: equal but for case and
// punctuation, or few letters away; empty if none is. O(names x lengths).
std::string did_you_mean(const std::vector<std::string_view>& names, std::string_view wanted);

}  // namespace fairlead
