// Texts of users that may be shown on a terminal or a page.
#pragma once

#include <string>
#include <string_view>

namespace fairlead {

// Returns whether a UTF-8 text has neither control characters, which could do anything to a terminal, nor characters that
// change the direction of writing, which could show one name as another. O(bytes).
bool is_printable(std::string_view text);
// Returns the text with '?' in place of each such character. O(bytes).
std::string printable(std::string_view text);

}  // namespace fairlead
