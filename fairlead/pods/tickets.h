// Tickets as operators write them: a line "NAMESPACE: N" for each namespace that has not one.
#pragma once

#include "fairlead/base/result.h"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace fairlead {

// YAML; nothing is no tickets. Errors, with the line: it is no map, or a number is not 1 to a million.
Result<std::map<std::string, std::int64_t>> parse_tickets(std::string_view text);

}  // namespace fairlead
