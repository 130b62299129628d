#include "fairlead/base/time_text.h"

#include "fairlead/base/parse.h"

#include <algorithm>
#include <array>

namespace fairlead {
namespace {

struct Unit {
  char letter;
  std::int64_t s;
};
constexpr std::array kUnits = {Unit{'d', 86'400}, Unit{'h', 3600}, Unit{'m', 60}, Unit{'s', 1}};

}  // namespace

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
    const auto* unit = std::ranges::find(kUnits, rest[end], &Unit::letter);
    if (!number || unit == kUnits.end()) return wrong();
    sum += *number * static_cast<double>(unit->s);
    rest = trimmed(rest.substr(end + 1));
  }
  if (sum <= 0 || sum * 1000 > static_cast<double>(kMsMax)) return wrong();
  return sum;
}

}  // namespace fairlead
