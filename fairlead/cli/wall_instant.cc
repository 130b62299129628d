#include "fairlead/cli/wall_instant.h"

#include "fairlead/base/parse.h"
#include "fairlead/base/time_text.h"

#include <fmt/chrono.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <ctime>
#include <optional>

namespace fairlead {
namespace {

constexpr std::int64_t kSecondMs = 1000;
constexpr std::string_view kForms =
    "write a time like 'tue 9:00', '2026-12-01 9:00', 'tomorrow 9:00', '14:30', 'in 2h' or 'now'";

std::tm local_of(std::int64_t unix_ms) {
  const std::time_t seconds = unix_ms / kSecondMs;
  std::tm local{};
  ::localtime_r(&seconds, &local);
  return local;
}

// Returns the minutes of "9:00".
std::optional<int> clock_minutes(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos || text.size() - colon != 3 || colon > 2) return std::nullopt;
  const auto hours = parse_integer(text.substr(0, colon));
  const auto minutes = parse_integer(text.substr(colon + 1));
  if (!hours || !minutes || *hours < 0 || *hours > 23 || *minutes < 0 || *minutes > 59)
    return std::nullopt;
  return static_cast<int>(*hours * 60 + *minutes);
}

// Returns the day of the week from Sunday on, by the first three letters or the whole name.
std::optional<int> weekday_of(std::string_view text) {
  constexpr std::array<std::string_view, 7> kNames = {"sunday",   "monday", "tuesday", "wednesday",
                                                      "thursday", "friday", "saturday"};
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  });
  const auto found = std::ranges::find_if(
      kNames, [&](std::string_view name) { return lower == name || lower == name.substr(0, 3); });
  if (found == kNames.end()) return std::nullopt;
  return static_cast<int>(found - kNames.begin());
}

// Returns the instant of a wall time, `days` after the day `day`.
std::int64_t instant_of(std::tm day, int days, int minutes) {
  day.tm_mday += days;
  day.tm_hour = minutes / 60;
  day.tm_min = minutes % 60;
  day.tm_sec = 0;
  day.tm_isdst = -1;
  return std::int64_t{::mktime(&day)} * kSecondMs;
}

// Reads "2026-12-01" into the day of `day`.
bool read_date(std::string_view text, std::tm& day) {
  if (text.size() != 10 || text[4] != '-' || text[7] != '-') return false;
  const auto year = parse_integer(text.substr(0, 4));
  const auto month = parse_integer(text.substr(5, 2));
  const auto number = parse_integer(text.substr(8, 2));
  if (!year || !month || !number) return false;
  day = std::tm{};
  day.tm_year = static_cast<int>(*year) - 1900;
  day.tm_mon = static_cast<int>(*month) - 1;
  day.tm_mday = static_cast<int>(*number);
  day.tm_hour = 12;
  day.tm_isdst = -1;
  std::tm normal = day;
  ::mktime(&normal);
  return normal.tm_mon == day.tm_mon && normal.tm_mday == day.tm_mday;
}

// Returns the instant of a day and a time of day; none: the text has another form.
std::optional<std::int64_t> instant_on(std::string_view day, std::optional<int> minutes,
                                       std::int64_t now_unix_ms) {
  const std::tm today = local_of(now_unix_ms);
  const std::size_t blank = day.rfind(' ');
  if (blank != std::string_view::npos && weekday_of(day.substr(0, blank)))
    day.remove_prefix(blank + 1);  // as wall_text() writes it
  std::tm date{};
  if (read_date(day, date)) return instant_of(date, 0, minutes.value_or(0));
  if (!minutes) return std::nullopt;
  if (day == "today") return instant_of(today, 0, *minutes);
  if (day == "tomorrow") return instant_of(today, 1, *minutes);
  const auto weekday = weekday_of(day);
  if (!day.empty() && !weekday) return std::nullopt;
  const int period = weekday ? 7 : 1;
  const int days = weekday ? (*weekday - today.tm_wday + 7) % 7 : 0;
  const std::int64_t next = instant_of(today, days, *minutes);
  const std::int64_t this_minute = now_unix_ms - now_unix_ms % 60'000;
  return next >= this_minute ? next : instant_of(today, days + period, *minutes);
}

}  // namespace

Result<std::int64_t> parse_wall_instant(std::string_view text, std::int64_t now_unix_ms) {
  const std::string_view all = trimmed(text);
  if (all == "now") return now_unix_ms;
  if (all.starts_with("in ")) {
    FL_TRY_ASSIGN(span_s, parse_span_s(all.substr(3)));
    return now_unix_ms + std::llround(span_s * 1000);
  }
  const std::size_t blank = std::min(all.find_last_of(" T"), all.size());
  const std::string_view last = blank == all.size() ? all : all.substr(blank + 1);
  const auto minutes = clock_minutes(last);
  const std::string_view day = !minutes              ? all
                               : blank == all.size() ? ""
                                                     : trimmed(all.substr(0, blank));
  const auto instant = instant_on(day, minutes, now_unix_ms);
  if (!instant) return input_error("{}: {}", kForms, text);
  return *instant;
}

std::string wall_text(std::int64_t unix_ms) {
  return fmt::format("{:%a %Y-%m-%d %H:%M}", local_of(unix_ms));
}

}  // namespace fairlead
