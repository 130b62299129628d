// Texts divided at a character.
#pragma once

#include <string_view>
#include <vector>

namespace fairlead {

// Returns the parts between separators: one more than there are separators, some of them perhaps empty. O(text).
inline std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

}  // namespace fairlead
