// Calendar times of traces as milliseconds since 1970-01-01 00:00 UTC.
#pragma once

#include "fairlead/base/parse.h"
#include "fairlead/base/units.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fairlead {

// The least number that is a time since 1970, in a trace that may also count from a start of its own.
constexpr Time kYear2000 = {946'684'800'000};

// A wall clock's "YYYY-MM-DD HH:MM:SS" (or with a T between), in milliseconds as if it were UTC. From 1970 on;
// fractions of a second are truncated.
struct WallTime {
  std::int64_t ms = 0;
  friend constexpr auto operator<=>(WallTime, WallTime) = default;
};
Parsed<WallTime> parse_wall_time(std::string_view text);

// The same, followed by an optional offset ("+00:00", "-0800", "Z"); without one it is UTC.
Parsed<Time> parse_utc_time(std::string_view text);

// Which number of 04/05/2026 is the day.
enum class DayOrder : std::uint8_t { kUnknown, kDayFirst, kMonthFirst };

struct CivilTime {
  Time time;
  bool has_zone = false;                // if not, the time is taken as UTC
  DayOrder order = DayOrder::kUnknown;  // proven by this date: it has slashes and a number above 12
};

// Parses a calendar time as people and spreadsheets write it: a day and, after a blank or a T, a time of day (default
// 00:00) and an offset from UTC. Days: 2026-01-31, 2026/01/31, 31.01.2026. Days with slashes or dashes are 31/01/2026
// or 01/31/2026, by `order`, or recognised by a number above 12. Times of day: 9:05, 09:05:01, 09:05:01.25, 9:05 PM.
// Errors: kAmbiguousDay if both orders are possible; not a calendar time.
Parsed<CivilTime> parse_civil_time(std::string_view text, DayOrder order);
constexpr std::string_view kAmbiguousDay =
    "may be a day and a month or a month and a day: add --dates dmy or --dates mdy";

// The offsets from UTC of a wall clock: the first one, and the wall times from which others are valid.
struct UtcOffsets {
  struct Step {
    WallTime from;  // the smallest time for the first step
    Duration offset;
  };
  std::vector<Step> steps;  // by time; none: UTC
  // Returns the instant of a wall time. An hour that occurs twice is its first pass if the later offset is valid from
  // its end on. O(steps).
  Time utc(WallTime wall) const;
  // "UTC+2, from 2026-10-25 03:00:00 on UTC+1".
  std::string text() const;
};

// Parses "+02:00" or "+02:00,2026-10-25T03:00:00=+01:00,...". Errors: an offset or a time that is none; times that do
// not rise.
Parsed<UtcOffsets> parse_utc_offsets(std::string_view text);

// Parses a length of time in parts: h:mm:ss, d-hh:mm:ss, "2 days, 3:04:05", each with a fraction of a second; with
// `is_mm_ss` also mm:ss, as Slurm writes it. Returns milliseconds, rounded up.
Parsed<std::int64_t> parse_clock_length(std::string_view text, bool is_mm_ss);

// The instant of a US Pacific wall time, by the rule in force since 2007: daylight saving time from
// the second Sunday of March to the first Sunday of November, each at 02:00.
//   - The hour that occurs twice in November is taken as its first pass (daylight saving time).
//   - The hour that is skipped in March is taken as standard time.
Time pacific_to_utc(WallTime wall);

}  // namespace fairlead
