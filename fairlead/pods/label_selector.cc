#include "fairlead/pods/label_selector.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace fairlead {
namespace {

bool expression_matches(const Json& expression, const Labels& labels) {
  const auto label = labels.find(text_at(expression, {"key"}));
  const bool has = label != labels.end();
  const std::string& how = text_at(expression, {"operator"});
  if (how == "Exists") return has;
  if (how == "DoesNotExist") return !has;
  const Json& values = json_at(expression, {"values"});
  const bool is_in = has && std::ranges::any_of(values, [&](const Json& value) {
                       return value.is_string() && value == label->second;
                     });
  return how == "NotIn" ? !is_in : is_in;
}

}  // namespace

bool selects(const Json& selector, const Labels& labels) {
  if (!selector.is_object()) return false;
  const Json& wanted = json_at(selector, {"matchLabels"});
  if (wanted.is_object()) {
    for (const auto& [name, value] : wanted.items()) {
      const auto label = labels.find(name);
      if (label == labels.end() || !value.is_string() || value != label->second) return false;
    }
  }
  return std::ranges::all_of(json_at(selector, {"matchExpressions"}), [&](const Json& expression) {
    return expression_matches(expression, labels);
  });
}

}  // namespace fairlead
