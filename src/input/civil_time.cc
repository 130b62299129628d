#include "fairlead/input/civil_time.h"

#include <chrono>

namespace fairlead {
namespace {

constexpr std::string_view kNotATime = "must be a time, such as 2017-10-09 07:01:59";
constexpr std::int64_t kHourMs = 3'600'000;
constexpr std::int64_t kMinuteMs = 60'000;

// Takes `count` digits from the front of `text`; -1 if they are not there.
int take_digits(std::string_view& text, std::size_t count) {
  if (text.size() < count) return -1;
  int value = 0;
  for (const char c : text.substr(0, count)) {
    if (c < '0' || c > '9') return -1;
    value = value * 10 + (c - '0');
  }
  text.remove_prefix(count);
  return value;
}

bool take(std::string_view& text, std::string_view any_of) {
  if (text.empty() || any_of.find(text.front()) == any_of.npos) return false;
  text.remove_prefix(1);
  return true;
}

std::int64_t ms_of(std::chrono::sys_days day) {
  return std::int64_t{day.time_since_epoch().count()} * 24 * kHourMs;
}

// "YYYY-MM-DD" from the front, as milliseconds; -1 if it is no day from 1970 on.
std::int64_t take_day(std::string_view& text) {
  const int year = take_digits(text, 4);
  const bool dash = take(text, "-");
  const int month = take_digits(text, 2);
  const bool dash2 = take(text, "-");
  const int day = take_digits(text, 2);
  if (year < 1970 || !dash || month < 1 || !dash2 || day < 1) return -1;
  const std::chrono::year_month_day date{std::chrono::year(year),
                                         std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  return date.ok() ? ms_of(std::chrono::sys_days(date)) : -1;
}

// "HH:MM:SS" and an optional fraction from the front; -1 if it is no time of day.
std::int64_t take_time_of_day(std::string_view& text) {
  const int hour = take_digits(text, 2);
  const bool colon = take(text, ":");
  const int minute = take_digits(text, 2);
  const bool colon2 = take(text, ":");
  const int second = take_digits(text, 2);
  if (hour < 0 || hour > 23 || !colon || minute < 0 || minute > 59 || !colon2) return -1;
  if (second < 0 || second > 60) return -1;  // 60: a leap second
  if (take(text, ".")) {
    while (take_digits(text, 1) >= 0) continue;
  }
  return hour * kHourMs + minute * kMinuteMs + second * std::int64_t{1000};
}

std::int64_t take_wall_time(std::string_view& text) {
  const std::int64_t day = take_day(text);
  const bool separated = take(text, " T");
  const std::int64_t time = take_time_of_day(text);
  return day < 0 || !separated || time < 0 ? -1 : day + time;
}

// An offset from UTC: "", "Z", "+HH", "+HHMM" or "+HH:MM"; `ok` tells whether it is one.
std::int64_t offset_ms(std::string_view text, bool& ok) {
  text = trimmed(text);
  ok = text.empty() || text == "Z";
  if (ok) return 0;
  const std::int64_t sign = text.front() == '-' ? -1 : 1;
  const bool has_sign = take(text, "+-");
  const int hours = take_digits(text, 2);
  take(text, ":");
  const int minutes = text.empty() ? 0 : take_digits(text, 2);
  ok = has_sign && hours >= 0 && hours < 24 && minutes >= 0 && minutes < 60 && text.empty();
  return sign * (hours * kHourMs + minutes * kMinuteMs);
}

// 02:00 of the `index`th Sunday of a month.
std::int64_t switch_ms(std::chrono::year year, std::chrono::month month, unsigned index) {
  return ms_of(std::chrono::sys_days(year / month / std::chrono::Sunday[index])) + 2 * kHourMs;
}

}  // namespace

Parsed<WallTime> parse_wall_time(std::string_view text) {
  text = trimmed(text);
  const std::int64_t ms = take_wall_time(text);
  if (ms < 0 || !text.empty()) return tl::unexpected(kNotATime);
  return WallTime{ms};
}

Parsed<Time> parse_utc_time(std::string_view text) {
  text = trimmed(text);
  const std::int64_t ms = take_wall_time(text);
  bool ok = false;
  const std::int64_t offset = offset_ms(text, ok);
  if (ms < 0 || !ok) return tl::unexpected(kNotATime);
  return Time{ms - offset};
}

Time pacific_to_utc(WallTime wall) {
  const auto day = std::chrono::floor<std::chrono::days>(
      std::chrono::sys_time<std::chrono::milliseconds>(std::chrono::milliseconds(wall.ms)));
  const std::chrono::year year = std::chrono::year_month_day(day).year();
  // In March the clock goes from 02:00 to 03:00; in November from 02:00 back to 01:00.
  const bool saving = wall.ms >= switch_ms(year, std::chrono::March, 2) + kHourMs &&
                      wall.ms < switch_ms(year, std::chrono::November, 1);
  return Time{wall.ms + (saving ? 7 : 8) * kHourMs};
}

}  // namespace fairlead
