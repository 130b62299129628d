#include "fairlead/input/civil_time.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <limits>

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

std::int64_t ms_of_day(int year, int month, int day) {
  if (year < 1970 || month < 1 || day < 1) return -1;
  const std::chrono::year_month_day date{std::chrono::year(year),
                                         std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  return date.ok() ? ms_of(std::chrono::sys_days(date)) : -1;
}

// Parses "YYYY-MM-DD" at the front, as milliseconds; -1 if it is not a day from 1970 on.
std::int64_t take_day(std::string_view& text) {
  const int year = take_digits(text, 4);
  const bool dash = take(text, "-");
  const int month = take_digits(text, 2);
  const bool dash2 = take(text, "-");
  const int day = take_digits(text, 2);
  return dash && dash2 ? ms_of_day(year, month, day) : -1;
}

// Parses "HH:MM:SS" and an optional fraction at the front; -1 if it is not a time of day.
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

// Parses an offset from UTC: "", "Z", "+HH", "+HHMM" or "+HH:MM"; `ok` is false for any other text.
std::int64_t offset_ms(std::string_view text, bool& ok) {
  text = trimmed(text);
  ok = text.empty() || text == "Z" || text == "UTC" || text == "GMT";
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

// One or two digits, or -1.
int take_one_or_two_digits(std::string_view& text) {
  const bool two = text.size() > 1 && text[1] >= '0' && text[1] <= '9';
  return take_digits(text, two ? 2 : 1);
}

// A day in any of the orders. -1: it is none; -2: it may be two.
constexpr std::int64_t kTwoDays = -2;

std::int64_t take_any_day(std::string_view& text, DayOrder& order) {
  const std::size_t separator = text.find_first_of("-/.");
  if (separator == text.npos) return -1;
  const std::string_view mark = text.substr(separator, 1);
  const bool year_first = separator == 4;
  const int first = year_first ? take_digits(text, 4) : take_one_or_two_digits(text);
  const bool marked = take(text, mark);
  const int second = take_one_or_two_digits(text);
  const bool marked2 = take(text, mark);
  const int third = year_first ? take_one_or_two_digits(text) : take_digits(text, 4);
  if (first < 1 || !marked || second < 1 || !marked2 || third < 1) return -1;
  if (year_first) return mark == "." ? -1 : ms_of_day(first, second, third);
  if (mark == ".") return ms_of_day(third, second, first);
  if (first > 12) order = DayOrder::kDayFirst;
  if (second > 12) order = DayOrder::kMonthFirst;
  if (order == DayOrder::kUnknown && first != second) return kTwoDays;
  return order == DayOrder::kMonthFirst ? ms_of_day(third, first, second)
                                        : ms_of_day(third, second, first);
}

// A fraction of a second behind a point or a comma, in milliseconds rounded up; 0 if there is none.
std::int64_t take_fraction_ms(std::string_view& text) {
  if (text.size() < 2 || text[1] < '0' || text[1] > '9' || !take(text, ".,")) return 0;
  std::int64_t ms = 0;
  std::int64_t unit = 100;
  bool more = false;
  for (int digit = take_digits(text, 1); digit >= 0; digit = take_digits(text, 1)) {
    ms += digit * unit;
    more = more || (unit == 0 && digit > 0);
    unit /= 10;
  }
  return ms + (more ? 1 : 0);
}

// Converts an hour of a 12-hour clock if AM or PM follows it; -1: it is not such an hour.
int take_half_of_day(std::string_view& text, int hour) {
  std::string_view rest = trimmed(text);
  const bool afternoon = take(rest, "pP");
  if (!afternoon && !take(rest, "aA")) return hour;
  if (!take(rest, "mM") || hour < 1 || hour > 12) return -1;
  text = rest;
  return hour % 12 + (afternoon ? 12 : 0);
}

// Parses "9:05", "09:05:01.25" or "9:05 PM"; -1 if it is not a time of day.
std::int64_t take_any_time_of_day(std::string_view& text) {
  int hour = take_one_or_two_digits(text);
  const bool colon = take(text, ":");
  const int minute = take_digits(text, 2);
  if (hour < 0 || !colon || minute < 0 || minute > 59) return -1;
  const int second = take(text, ":") ? take_digits(text, 2) : 0;
  if (second < 0 || second > 60) return -1;  // 60: a leap second
  const std::int64_t fraction_ms = take_fraction_ms(text);
  hour = take_half_of_day(text, hour);
  if (hour < 0 || hour > 23) return -1;
  return hour * kHourMs + minute * kMinuteMs + second * std::int64_t{1000} + fraction_ms;
}

// Takes digits from the front as a number of up to 9 digits; -1 if there is none.
std::int64_t take_number(std::string_view& text) {
  const std::size_t end = std::min(text.find_first_not_of("0123456789"), text.size());
  return end == 0 || end > 9 ? -1 : take_digits(text, end);
}

// Takes "2-" or "2 days, " from the front: the number of days; 0 if there are none.
std::int64_t take_days(std::string_view& text) {
  std::string_view rest = text;
  const std::int64_t days = take_number(rest);
  if (days < 0) return 0;
  if (!take(rest, "-")) {
    rest = trimmed(rest);
    if (!rest.starts_with("day")) return 0;
    rest.remove_prefix(std::min(rest.find_first_not_of("days"), rest.size()));
    take(rest, ",");
  }
  text = trimmed(rest);
  return days;
}

}  // namespace

Parsed<CivilTime> parse_civil_time(std::string_view text, DayOrder order) {
  constexpr std::string_view kNotACivilTime =
      "must be a time, such as 2026-01-31 07:01:59 or 31.01.2026 07:01";
  text = trimmed(text);
  CivilTime result;
  const std::int64_t day = take_any_day(text, order);
  if (day == kTwoDays) return tl::unexpected(kAmbiguousDay);
  result.order = order;
  std::int64_t time = 0;
  bool ok = day >= 0;
  if (ok && !text.empty()) {
    ok = take(text, " T");
    text = trimmed(text);
    time = take_any_time_of_day(text);
    ok = ok && time >= 0;
  }
  if (!ok) return tl::unexpected(kNotACivilTime);
  result.has_zone = !trimmed(text).empty();
  const std::int64_t offset = offset_ms(text, ok);
  if (!ok) return tl::unexpected(kNotACivilTime);
  result.time = {day + time - offset};
  return result;
}

Parsed<std::int64_t> parse_clock_length(std::string_view text, bool is_mm_ss) {
  constexpr std::string_view kNotALength =
      "must be a length of time, such as 1:02:03 or 2-01:02:03";
  text = trimmed(text);
  const std::int64_t days = take_days(text);
  std::int64_t parts[3] = {};
  std::size_t count = 0;
  do {
    parts[count] = take_number(text);
    if (parts[count] < 0 || (count > 0 && parts[count] > 59)) return tl::unexpected(kNotALength);
    ++count;
  } while (count < 3 && take(text, ":"));
  const std::int64_t fraction_ms = take_fraction_ms(text);
  if (!text.empty() || count == 1) return tl::unexpected(kNotALength);
  if (count == 2 && !is_mm_ss) {
    return tl::unexpected<std::string_view>(
        "may be h:mm or m:ss: write h:mm:ss, or a number with --unit");
  }
  const std::int64_t hours = count == 3 ? parts[0] : 0;
  const std::int64_t minutes = parts[count - 2];
  const std::int64_t ms =
      (days * 24 + hours) * kHourMs + minutes * kMinuteMs + parts[count - 1] * 1000 + fraction_ms;
  if (ms > kMsMax) return tl::unexpected<std::string_view>("must be at most 100 years");
  return ms;
}

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

Time UtcOffsets::utc(WallTime wall) const {
  Duration offset{};
  for (const Step& step : steps) {
    if (step.from <= wall) offset = step.offset;
  }
  return Time{wall.ms} - offset;
}

std::string UtcOffsets::text() const {
  std::string text;
  for (const Step& step : steps) {
    if (!text.empty()) {
      const std::chrono::sys_seconds from{std::chrono::seconds(step.from.ms / 1000)};
      text += fmt::format(", from {:%Y-%m-%d %H:%M:%S} on ", from);
    }
    const std::int64_t minutes = std::abs(step.offset.ms) / kMinuteMs;
    text += fmt::format("UTC{}{}", step.offset.ms < 0 ? '-' : '+', minutes / 60);
    if (minutes % 60 != 0) text += fmt::format(":{:02}", minutes % 60);
  }
  return text;
}

Parsed<UtcOffsets> parse_utc_offsets(std::string_view text) {
  constexpr std::string_view kOffsets = "takes +HH:MM, or +HH:MM,YYYY-MM-DDTHH:MM:SS=+HH:MM";
  UtcOffsets offsets;
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find(','));
    text.remove_prefix(std::min(part.size() + 1, text.size()));
    const std::size_t equals = part.find('=');
    const bool is_first = offsets.steps.empty();
    if (is_first != (equals == part.npos)) return tl::unexpected(kOffsets);
    UtcOffsets::Step step{.from = {std::numeric_limits<std::int64_t>::min()}, .offset = {}};
    if (!is_first) {
      const Parsed<WallTime> from = parse_wall_time(part.substr(0, equals));
      if (!from || *from <= offsets.steps.back().from) return tl::unexpected(kOffsets);
      step.from = *from;
    }
    bool ok = false;
    step.offset = {offset_ms(is_first ? part : part.substr(equals + 1), ok)};
    if (!ok) return tl::unexpected(kOffsets);
    offsets.steps.push_back(step);
  }
  return offsets;
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
