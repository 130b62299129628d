#include "fairlead/experiment/yaml.h"

namespace fairlead {
namespace {

template <class T, class ReadOne>
Status read_value(const YamlNode& map, std::string_view key, T& value, ReadOne read_one) {
  const auto node = map.find(key);
  if (!node) return {};
  FL_TRY_ASSIGN(given, read_one(*node));
  value = std::move(given);
  return {};
}

template <class T, class ReadOne>
Status read_values(const YamlNode& map, std::string_view key, std::vector<T>& values,
                   ReadOne read_one) {
  const auto node = map.find(key);
  if (!node) return {};
  std::vector<YamlNode> items = {*node};
  if (!node->is_scalar()) {
    FL_TRY_ASSIGN(list, node->items());
    items = std::move(list);
  }
  values.clear();
  for (const YamlNode& item : items) {
    FL_TRY_ASSIGN(value, read_one(item));
    values.push_back(std::move(value));
  }
  return {};
}

}  // namespace

Status read(const YamlNode& map, std::string_view key, std::string& value) {
  return read_value(map, key, value, [](const YamlNode& node) { return node.text(); });
}

Status read(const YamlNode& map, std::string_view key, RealBounds bounds, double& value) {
  return read_value(map, key, value, [&](const YamlNode& node) { return node.real(bounds); });
}

Status read(const YamlNode& map, std::string_view key, IntegerBounds bounds, std::int64_t& value) {
  return read_value(map, key, value, [&](const YamlNode& node) { return node.integer(bounds); });
}

Status read(const YamlNode& map, std::string_view key, bool& value) {
  return read_value(map, key, value, [](const YamlNode& node) -> Result<bool> {
    const std::string text = node.text().value_or("");
    if (text != "true" && text != "false") return node.bad_value("expected true or false");
    return text == "true";
  });
}

Status read(const YamlNode& map, std::string_view key, std::vector<std::string>& values) {
  return read_values(map, key, values, [](const YamlNode& node) { return node.text(); });
}

Status read(const YamlNode& map, std::string_view key, RealBounds bounds,
            std::vector<double>& values) {
  return read_values(map, key, values, [&](const YamlNode& node) { return node.real(bounds); });
}

Status read(const YamlNode& map, std::string_view key, IntegerBounds bounds,
            std::vector<std::int64_t>& values) {
  return read_values(map, key, values, [&](const YamlNode& node) { return node.integer(bounds); });
}

}  // namespace fairlead
