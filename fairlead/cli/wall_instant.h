// Instants as people write them at a command line, in the time zone TZ.
#pragma once

#include "fairlead/base/result.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace fairlead {

// Parses an instant: "now"; "in 2h"; "9:00" or "tue 9:00", the next one; "today 14:00", "tomorrow 9:00"; "2026-12-01", at its
// beginning; "2026-12-01 9:00"; a text of wall_text(). Returns Unix milliseconds. mktime() decides about wall times that a change of clocks skips or
// repeats. Error: the text is none of these.
Result<std::int64_t> parse_wall_instant(std::string_view text, std::int64_t now_unix_ms);

// Returns "Tue 2026-12-01 09:00".
std::string wall_text(std::int64_t unix_ms);

}  // namespace fairlead
