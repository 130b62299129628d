// Lengths of time, as people write them.
#pragma once

#include "fairlead/base/result.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace fairlead {

// "12s", "3m 5s", "2h 5m", "3d 4h": the two largest units, cut off. Negative is "0s".
std::string span_text(std::int64_t ms);
// How tables write lengths of time: for people, or in seconds.
enum class TimeUnits : std::uint8_t { kHuman, kSeconds };
// For people: "12 d", "2 d 6 h", "5 h 21 min", "39 min", "9 min 40 s", "42 s", "4.2 s", rounded to two
// or three digits; "-39 min" for less than nothing.
std::string length_text(double s);

// An instant in UTC, "2026-01-31T09:05:01Z", cut off to whole seconds; `unix_ms` is in milliseconds since 1970.
std::string utc_text(std::int64_t unix_ms);
// The same for people, to the minute: "2026-01-31 09:05".
std::string date_text(std::int64_t unix_ms);

// "90s", "30m", "30 min", "2h", "1h30m", "2d 4h", in seconds. Errors: no such text; zero; over a hundred years.
Result<double> parse_span_s(std::string_view text);

}  // namespace fairlead
