#include "fairlead/base/parse.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <system_error>

namespace fairlead {
namespace {

constexpr std::string_view kNotSeconds = "must be seconds, such as 12 or 0.25";

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// A decimal number as its digits: value = digits x 10^exponent.
struct Decimal {
  Int128 digits = 0;  // the first 30 significant ones
  std::int64_t exponent = 0;
  bool more = false;  // digits after those, not all zero
};

// Reads digits and a point from the front of `text`; false if there is no digit.
bool read_digits(std::string_view& text, Decimal& number) {
  constexpr Int128 kFull = Int128{1'000'000'000'000'000} * 1'000'000'000'000'000;
  bool any = false;
  bool fraction = false;
  for (; !text.empty(); text.remove_prefix(1)) {
    const char c = text.front();
    if (c == '.' && !fraction) {
      fraction = true;
      continue;
    }
    if (!is_digit(c)) break;
    any = true;
    const bool room = number.digits < kFull / 10;
    if (room) number.digits = number.digits * 10 + (c - '0');
    if (!room && c != '0') number.more = true;
    if (fraction && room) --number.exponent;
    if (!fraction && !room) ++number.exponent;
  }
  return any;
}

// Reads an exponent ("e-3") or nothing, up to the end of `text`.
bool read_exponent(std::string_view text, Decimal& number) {
  if (text.empty()) return true;
  if (text.front() != 'e' && text.front() != 'E') return false;
  text.remove_prefix(1);
  if (text.size() > 1 && text[0] == '+' && is_digit(text[1])) text.remove_prefix(1);
  int exponent = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), exponent);
  number.exponent += exponent;
  return status == std::errc() && end == text.data() + text.size();
}

// "8.0" as "8".
std::string_view without_zero_decimals(std::string_view text) {
  const std::size_t last = text.find_last_not_of('0');
  if (last == text.npos || last == 0 || last + 1 == text.size() || text[last] != '.') return text;
  return text.substr(0, last);
}

// digits x 10^exponent, rounded up; at most `limit` + 1.
Int128 round_up(Decimal number, Int128 limit) {
  if (number.digits == 0) return 0;
  for (; number.exponent > 0 && number.digits <= limit; --number.exponent) number.digits *= 10;
  for (; number.exponent < 0 && number.digits > 0; ++number.exponent) {
    if (number.digits % 10 != 0) number.more = true;
    number.digits /= 10;
  }
  return std::min(number.digits + (number.more ? 1 : 0), limit + 1);
}

}  // namespace

std::string_view trimmed(std::string_view text) {
  const auto blank = [](char c) { return c == ' ' || c == '\t'; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

Parsed<std::int64_t> parse_integer(std::string_view text) {
  text = without_zero_decimals(trimmed(text));
  if (text.starts_with('+') && text.size() > 1 && is_digit(text[1])) text.remove_prefix(1);
  std::int64_t value = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (status != std::errc() || end != text.data() + text.size())
    return tl::unexpected<std::string_view>("must be a whole number");
  return value;
}

Parsed<double> parse_number(std::string_view text) {
  text = trimmed(text);
  double value = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (status != std::errc() || end != text.data() + text.size() || !std::isfinite(value))
    return tl::unexpected<std::string_view>("must be a number");
  return value;
}

Parsed<std::int64_t> parse_seconds(std::string_view text) { return parse_units(text, seconds(1)); }

Parsed<std::int64_t> parse_units(std::string_view text, Duration unit) {
  FL_CHECK(unit.ms >= 1 && unit <= hours(24), "{} ms", unit.ms);
  text = trimmed(text);
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  Decimal number;
  if (!read_digits(text, number) || !read_exponent(text, number))
    return tl::unexpected(kNotSeconds);
  number.digits *= unit.ms;  // at most 10^30 of them, so there is room
  const Int128 ms = round_up(number, kMsMax);
  FL_CHECK(ms >= 0);
  if (negative && ms > 0) return tl::unexpected<std::string_view>("must not be negative");
  if (ms > kMsMax) return tl::unexpected<std::string_view>("must be at most 100 years");
  return static_cast<std::int64_t>(ms);
}

}  // namespace fairlead
