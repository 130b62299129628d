// JSON from the API server, read without exceptions: a missing value, or one of another type, is empty.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

namespace fairlead {

using Json = nlohmann::json;
using JsonPath = std::initializer_list<std::string_view>;  // keys, from the outermost

// Returns the value at the end of a path, for example {"metadata", "name"}; null if there is none. The result is valid
// as long as `value`.
const Json& json_at(const Json& value, JsonPath path);
// Returns the same if it is a string, a number or true; otherwise "", 0 or false.
const std::string& text_at(const Json& value, JsonPath path);
std::int64_t integer_at(const Json& value, JsonPath path, std::int64_t otherwise = 0);
bool is_true_at(const Json& value, JsonPath path);
// Returns the item of a list at `path` whose `key` is `text`, for example a condition by its type; null: none.
const Json& item_at(const Json& value, JsonPath path, std::string_view key, std::string_view text);

// Returns nothing if the text is not JSON.
std::optional<Json> parsed_json(std::string_view text);
// Writes without blanks; replaces bytes that are not UTF-8.
std::string compact_text(const Json& value);

// Returns "2026-11-22T08:30:00Z", and with six digits of a second, as Leases and events have them.
std::string timestamp(std::int64_t unix_ms);
std::string micro_timestamp(std::int64_t unix_ms);

}  // namespace fairlead
