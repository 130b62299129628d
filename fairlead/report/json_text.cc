#include "fairlead/report/json_text.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <iterator>

namespace fairlead {
namespace {

constexpr std::size_t kFlushBytes = std::size_t{1} << 16;

}  // namespace

void JsonText::separate() {
  if (!first_) buffer_ += ',';
  first_ = false;
  if (buffer_.size() >= kFlushBytes) flush();
}

void JsonText::begin(char bracket) {
  separate();
  buffer_ += bracket;
  first_ = true;
}

void JsonText::end(char bracket) {
  buffer_ += bracket;
  first_ = false;
}

void JsonText::key(std::string_view name) {
  separate();
  buffer_ += '"';
  buffer_ += name;
  buffer_ += "\":";
  first_ = true;
}

void JsonText::text(std::string_view value) {
  using nlohmann::json;
  raw(json(value).dump(-1, ' ', false, json::error_handler_t::replace));
}

void JsonText::integer(std::int64_t value) {
  separate();
  const fmt::format_int digits(value);
  buffer_.append(digits.data(), digits.size());
}

void JsonText::number(double value) {
  if (!std::isfinite(value)) return null();
  separate();
  const std::size_t from = buffer_.size();
  fmt::format_to(std::back_inserter(buffer_), "{:.4f}", value);
  trim_zeros(from);
}

void JsonText::seconds(Duration value) {
  separate();
  const std::size_t from = buffer_.size();
  const std::int64_t ms = std::abs(value.ms);
  fmt::format_to(std::back_inserter(buffer_), "{}{}.{:03}", value.ms < 0 ? "-" : "", ms / 1000,
                 ms % 1000);
  trim_zeros(from);
}

void JsonText::raw(std::string_view json) {
  separate();
  buffer_ += json;
}

void JsonText::flush() {
  if (!buffer_.empty()) output_(buffer_);
  buffer_.clear();
}

// Trims a number with decimals, which starts at `from`.
void JsonText::trim_zeros(std::size_t from) {
  buffer_.erase(buffer_.find_last_not_of('0') + 1);
  if (buffer_.back() == '.') buffer_.pop_back();
  if (std::string_view(buffer_).substr(from) == "-0") buffer_.replace(from, 2, "0");
}

}  // namespace fairlead
