#include "fairlead/kube/json.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <chrono>

namespace fairlead {
namespace {

const Json kNull;
const std::string kNoText;

struct Civil {
  std::chrono::year_month_day day;
  std::int64_t ms = 0;  // time of the day, ms
};

Civil civil(std::int64_t unix_ms) {
  const std::chrono::sys_time<std::chrono::milliseconds> at{std::chrono::milliseconds(unix_ms)};
  const auto day = std::chrono::floor<std::chrono::days>(at);
  return {std::chrono::year_month_day(day), (at - day).count()};
}

std::string seconds_text(const Civil& c) {
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}", int{c.day.year()},
                     unsigned{c.day.month()}, unsigned{c.day.day()}, c.ms / 3'600'000,
                     c.ms / 60'000 % 60, c.ms / 1000 % 60);
}

}  // namespace

const Json& json_at(const Json& value, JsonPath path) {
  const Json* at = &value;
  for (const std::string_view key : path) {
    if (!at->is_object()) return kNull;
    const auto found = at->find(key);
    if (found == at->end()) return kNull;
    at = &*found;
  }
  return *at;
}

const std::string& text_at(const Json& value, JsonPath path) {
  const std::string* const text = json_at(value, path).get_ptr<const std::string*>();
  return text == nullptr ? kNoText : *text;
}

std::int64_t integer_at(const Json& value, JsonPath path, std::int64_t otherwise) {
  const Json& at = json_at(value, path);
  return at.is_number_integer() ? at.get<std::int64_t>() : otherwise;
}

bool is_true_at(const Json& value, JsonPath path) {
  const Json& at = json_at(value, path);
  return at.is_boolean() && at.get<bool>();
}

const Json& item_at(const Json& value, JsonPath path, std::string_view key, std::string_view text) {
  const Json& list = json_at(value, path);
  if (!list.is_array()) return kNull;
  for (const Json& item : list) {
    if (text_at(item, {key}) == text) return item;
  }
  return kNull;
}

std::optional<Json> parsed_json(std::string_view text) {
  Json value = Json::parse(text, nullptr, false);
  if (value.is_discarded()) return std::nullopt;
  return value;
}

std::string compact_text(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string timestamp(std::int64_t unix_ms) { return seconds_text(civil(unix_ms)) + "Z"; }

std::string micro_timestamp(std::int64_t unix_ms) {
  const Civil c = civil(unix_ms);
  return fmt::format("{}.{:03}000Z", seconds_text(c), c.ms % 1000);
}

}  // namespace fairlead
