#include "fairlead/base/time_text.h"

#include "fairlead/base/parse.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>

namespace fairlead {
namespace {

struct Unit {
  char letter;
  std::int64_t s;
};
constexpr std::array kUnits = {Unit{'d', 86'400}, Unit{'h', 3600}, Unit{'m', 60}, Unit{'s', 1}};

// Up to and without `below_s` a length is written in whole `small` units, and as many of `large`.
struct Grain {
  double below_s;
  std::int64_t large_s;
  std::string_view large;  // empty: only small units
  std::int64_t small_s;
  std::string_view small;
};
constexpr double kMinuteS = 60;
constexpr double kHourS = 3600;
constexpr double kDayS = 86'400;
constexpr std::array kGrains = {Grain{59.5, 0, "", 1, "s"},
                                Grain{10 * kMinuteS - 0.5, 60, "min", 1, "s"},
                                Grain{kHourS - 30, 0, "", 60, "min"},
                                Grain{kDayS - 30, 3600, "h", 60, "min"},
                                Grain{10 * kDayS - 1800, 86'400, "d", 3600, "h"},
                                Grain{0, 0, "", 86'400, "d"}};

}  // namespace

std::string length_text(double s) {
  if (s < 0) return "-" + length_text(-s);
  constexpr double kWithTenthsS = 9.95;
  if (s < kWithTenthsS) return fmt::format("{:.1f} s", s);
  const auto* const grain = std::ranges::find_if(
      kGrains, [&](const Grain& one) { return s < one.below_s || one.below_s == 0; });
  const auto units =
      static_cast<std::int64_t>(std::llround(s / static_cast<double>(grain->small_s)));
  if (grain->large.empty()) return fmt::format("{} {}", units, grain->small);
  const std::int64_t per_large = grain->large_s / grain->small_s;
  const std::string text = fmt::format("{} {}", units / per_large, grain->large);
  const std::int64_t rest = units % per_large;
  return rest == 0 ? text : fmt::format("{} {} {}", text, rest, grain->small);
}

std::string span_text(std::int64_t ms) {
  const std::int64_t s = std::max<std::int64_t>(ms, 0) / 1000;
  for (std::size_t i = 0; i + 1 < kUnits.size(); ++i) {
    const Unit large = kUnits[i];
    const Unit small = kUnits[i + 1];
    if (s < large.s) continue;
    const std::int64_t rest = s % large.s / small.s;
    const std::string text = fmt::format("{}{}", s / large.s, large.letter);
    return rest == 0 ? text : fmt::format("{} {}{}", text, rest, small.letter);
  }
  return fmt::format("{}s", s);
}

std::string utc_text(std::int64_t unix_ms) {
  const std::chrono::sys_time<std::chrono::milliseconds> at{std::chrono::milliseconds(unix_ms)};
  const auto day = std::chrono::floor<std::chrono::days>(at);
  const std::chrono::year_month_day date(day);
  const std::int64_t ms = (at - day).count();
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", int{date.year()},
                     unsigned{date.month()}, unsigned{date.day()}, ms / 3'600'000, ms / 60'000 % 60,
                     ms / 1000 % 60);
}

std::string date_text(std::int64_t unix_ms) {
  const std::string text = utc_text(unix_ms);
  return fmt::format("{} {}", text.substr(0, 10), text.substr(11, 5));
}

Result<double> parse_span_s(std::string_view text) {
  const auto wrong = [text] {
    return input_error("a length of time is like 90s, 30m, 2h or 1h30m: {}", text);
  };
  double sum = 0;
  std::string_view rest = trimmed(text);
  while (!rest.empty()) {
    const std::size_t end = rest.find_first_not_of("0123456789.");
    if (end == 0 || end == std::string_view::npos) return wrong();
    const auto number = parse_number(rest.substr(0, end));
    rest = trimmed(rest.substr(end));
    const auto* unit = std::ranges::find(kUnits, rest[0], &Unit::letter);
    if (!number || unit == kUnits.end()) return wrong();
    sum += *number * static_cast<double>(unit->s);
    rest = trimmed(rest.substr(rest.starts_with("min") ? 3 : 1));
  }
  if (sum <= 0 || sum * 1000 > static_cast<double>(kMsMax)) return wrong();
  return sum;
}

}  // namespace fairlead
