// Calendar times of traces as milliseconds since 1970-01-01 00:00 UTC.
#pragma once

#include "fairlead/base/parse.h"
#include "fairlead/base/units.h"

#include <cstdint>
#include <string_view>

namespace fairlead {

// A wall clock's "YYYY-MM-DD HH:MM:SS" (or with a T between), in milliseconds as if it were UTC.
// From 1970 on; fractions of a second are cut off.
struct WallTime {
  std::int64_t ms = 0;
  friend constexpr auto operator<=>(WallTime, WallTime) = default;
};
Parsed<WallTime> parse_wall_time(std::string_view text);

// The same, followed by an optional offset ("+00:00", "-0800", "Z"); without one it is UTC.
Parsed<Time> parse_utc_time(std::string_view text);

// The instant of a US Pacific wall time, by the rule in force since 2007: daylight saving time from
// the second Sunday of March to the first Sunday of November, each at 02:00.
//   - The hour that occurs twice in November is taken as its first pass (daylight saving time).
//   - The hour that is skipped in March is taken as standard time.
Time pacific_to_utc(WallTime wall);

}  // namespace fairlead
