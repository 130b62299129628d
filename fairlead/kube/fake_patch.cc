#include "fairlead/kube/fake_patch.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <utility>

namespace fairlead {
namespace {

// The lists that are merged, and the key of each.
constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kMergedLists = {{
    {"conditions", "type"},
    {"containers", "name"},
    {"initContainers", "name"},
    {"env", "name"},
    {"ownerReferences", "uid"},
    {"schedulingGates", "name"},
    {"volumes", "name"},
}};

std::string_view key_of(std::string_view list) {
  const auto found = std::ranges::find(kMergedLists, list, [](const auto& l) { return l.first; });
  return found == kMergedLists.end() ? std::string_view() : found->second;
}

void merge_list(Json& list, const Json& patch, std::string_view key) {
  if (!list.is_array()) list = Json::array();
  for (const Json& item : patch) {
    const std::string name = text_at(item, {key});
    const auto found = std::find_if(list.begin(), list.end(),
                                    [&](const Json& i) { return text_at(i, {key}) == name; });
    if (text_at(item, {"$patch"}) == "delete") {
      if (found != list.end()) list.erase(found);
    } else if (found == list.end()) {
      list.push_back(item);
    } else {
      strategic_merge_patch(*found, item);
    }
  }
}

template <class Visit>
void each_term(std::string_view selector, const Visit& visit) {
  while (!selector.empty()) {
    const std::size_t end = std::min(selector.find(','), selector.size());
    visit(selector.substr(0, end));
    selector.remove_prefix(std::min(end + 1, selector.size()));
  }
}

// One term of a selector: `name`, perhaps compared with `value`.
struct Term {
  std::string_view name;
  std::string_view value;
  bool is_equal = true;
  bool is_compared = false;
};

Term parse_term(std::string_view text) {
  const std::size_t sign = text.find('=');
  if (sign == text.npos) return {text, {}, true, false};
  const bool is_not = sign > 0 && text[sign - 1] == '!';
  std::string_view value = text.substr(sign + 1);
  if (value.starts_with('=')) value.remove_prefix(1);
  return {text.substr(0, is_not ? sign - 1 : sign), value, !is_not, true};
}

std::string field(const Json& object, std::string_view path) {
  const Json* at = &object;
  while (!path.empty()) {
    const std::size_t end = std::min(path.find('.'), path.size());
    at = &json_at(*at, {path.substr(0, end)});
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  if (at->is_boolean()) return at->get<bool>() ? "true" : "false";
  return at->is_string() ? at->get<std::string>() : std::string();
}

}  // namespace

void merge_patch(Json& object, const Json& patch) { object.merge_patch(patch); }

void strategic_merge_patch(Json& object, const Json& patch) {
  if (!patch.is_object()) {
    object = patch;
    return;
  }
  if (!object.is_object()) object = Json::object();
  for (const auto& [key, value] : patch.items()) {
    const std::string_view list_key = key_of(key);
    if (value.is_null()) {
      object.erase(key);
    } else if (value.is_array() && !list_key.empty()) {
      merge_list(object[key], value, list_key);
    } else if (value.is_object()) {
      strategic_merge_patch(object[key], value);
    } else {
      object[key] = value;
    }
  }
}

bool fields_match(const Json& object, std::string_view selector) {
  bool matches = true;
  each_term(selector, [&](std::string_view text) {
    const Term term = parse_term(text);
    matches &= term.is_compared && (field(object, term.name) == term.value) == term.is_equal;
  });
  return matches;
}

bool labels_match(const Json& object, std::string_view selector) {
  const Json& labels = json_at(object, {"metadata", "labels"});
  bool matches = true;
  each_term(selector, [&](std::string_view text) {
    const bool is_not = text.starts_with('!');
    const Term term = parse_term(is_not ? text.substr(1) : text);
    const bool has = !json_at(labels, {term.name}).is_null();
    if (term.is_compared) {
      matches &= (has && text_at(labels, {term.name}) == term.value) == term.is_equal;
    } else {
      matches &= has != is_not;
    }
  });
  return matches;
}

}  // namespace fairlead
