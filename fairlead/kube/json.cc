#include "fairlead/kube/json.h"

#include "fairlead/base/time_text.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace fairlead {
namespace {

const Json kNull;
const std::string kNoText;

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

std::string timestamp(std::int64_t unix_ms) { return utc_text(unix_ms); }

std::string micro_timestamp(std::int64_t unix_ms) {
  std::string text = utc_text(unix_ms);
  text.pop_back();
  return fmt::format("{}.{:03}000Z", text, unix_ms % 1000);
}

}  // namespace fairlead
