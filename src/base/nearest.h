// Suggestions for a name that does not exist.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fairlead {

// The names, separated by commas, those first that `wanted` most likely stands for: what it
// abbreviates, then by Levenshtein distance. O(names x lengths).
std::string nearest_first(std::vector<std::string_view> names, std::string_view wanted);

}  // namespace fairlead
