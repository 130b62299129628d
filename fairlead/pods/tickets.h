// Tickets as operators write them: a line "NAMESPACE: N" for each namespace that has not one.
#pragma once

#include "fairlead/base/result.h"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace fairlead {

// Parses YAML; an empty text has no tickets. Errors, with the line: the text is not a map, or a number is
// not in 1 to a million.
Result<std::map<std::string, std::int64_t>> parse_tickets(std::string_view text);

}  // namespace fairlead
