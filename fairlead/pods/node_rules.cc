#include "fairlead/pods/node_rules.h"

#include "fairlead/base/parse.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <utility>

namespace fairlead {
namespace {

using Kind = LabelRule::Kind;

std::vector<std::string> texts_of(const Json& list) {
  std::vector<std::string> texts;
  texts.reserve(list.size());
  for (const Json& item : list) texts.push_back(text_at(item, {}));
  return texts;
}

Result<LabelRule> parse_rule(const Json& rule) {
  constexpr std::array<std::pair<std::string_view, Kind>, 6> kKinds = {
      {{"In", Kind::kIn},
       {"NotIn", Kind::kNotIn},
       {"Exists", Kind::kExists},
       {"DoesNotExist", Kind::kDoesNotExist},
       {"Gt", Kind::kGt},
       {"Lt", Kind::kLt}}};
  const std::string& name = text_at(rule, {"operator"});
  const auto kind = std::ranges::find(kKinds, name, [](const auto& entry) { return entry.first; });
  if (kind == kKinds.end()) {
    return input_error("its node affinity has an unknown operator: {}", name);
  }
  return LabelRule{text_at(rule, {"key"}), kind->second, texts_of(json_at(rule, {"values"}))};
}

Status parse_rules(const Json& list, std::vector<LabelRule>& rules) {
  rules.reserve(list.size());
  for (const Json& item : list) {
    FL_TRY_ASSIGN(rule, parse_rule(item));
    rules.push_back(std::move(rule));
  }
  return {};
}

bool matches(const LabelRule& rule, const std::string* value) {
  const auto is_listed = [&] {
    return std::ranges::find(rule.values, *value) != rule.values.end();
  };
  switch (rule.kind) {
    case Kind::kIn:
      return value != nullptr && is_listed();
    case Kind::kNotIn:
      return value == nullptr || !is_listed();
    case Kind::kExists:
      return value != nullptr;
    case Kind::kDoesNotExist:
      return value == nullptr;
    case Kind::kGt:
    case Kind::kLt: {
      if (value == nullptr || rule.values.size() != 1) return false;
      const auto has = parse_integer(*value);
      const auto bound = parse_integer(rule.values.front());
      if (!has || !bound) return false;
      return rule.kind == Kind::kGt ? *has > *bound : *has < *bound;
    }
  }
  return false;
}

bool matches(const LabelRule& rule, const Node& node) {
  const auto label = node.labels.find(rule.key);
  return matches(rule, label == node.labels.end() ? nullptr : &label->second);
}

bool matches(const NodeTerm& term, const Node& node) {
  if (term.labels.empty() && term.names.empty()) return false;
  const auto matches_here = [&](const LabelRule& rule) { return matches(rule, node); };
  const auto matches_name = [&](const LabelRule& rule) {
    return rule.key == "metadata.name" && matches(rule, &node.name);
  };
  return std::ranges::all_of(term.labels, matches_here) &&
         std::ranges::all_of(term.names, matches_name);
}

bool is_empty(const NodeTerm& term) { return term.labels.empty() && term.names.empty(); }

bool tolerates(const Toleration& toleration, const Taint& taint) {
  if (!toleration.effect.empty() && toleration.effect != taint.effect) return false;
  if (!toleration.key.empty() && toleration.key != taint.key) return false;
  if (toleration.key.empty() && !toleration.is_any_value) return false;
  return toleration.is_any_value || toleration.value == taint.value;
}

}  // namespace

Result<NodeRules> parse_node_rules(const Json& pod_spec) {
  NodeRules rules;
  if (const Json& selector = json_at(pod_spec, {"nodeSelector"}); selector.is_object()) {
    rules.selector.reserve(selector.size());
    for (const auto& [key, value] : selector.items()) {
      rules.selector.push_back({key, Kind::kIn, {text_at(value, {})}});
    }
  }
  const Json& required = json_at(
      pod_spec, {"affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution"});
  rules.has_terms = required.is_object();
  const Json& terms = json_at(required, {"nodeSelectorTerms"});
  rules.terms.reserve(terms.size());
  for (const Json& term : terms) {
    NodeTerm& parsed = rules.terms.emplace_back();
    FL_TRY(parse_rules(json_at(term, {"matchExpressions"}), parsed.labels));
    FL_TRY(parse_rules(json_at(term, {"matchFields"}), parsed.names));
  }
  const Json& tolerations = json_at(pod_spec, {"tolerations"});
  rules.tolerations.reserve(tolerations.size());
  for (const Json& toleration : tolerations) {
    const std::string& kind = text_at(toleration, {"operator"});
    // A toleration with an unknown operator tolerates nothing.
    if (!kind.empty() && kind != "Equal" && kind != "Exists") continue;
    rules.tolerations.push_back({.key = text_at(toleration, {"key"}),
                                 .value = text_at(toleration, {"value"}),
                                 .is_any_value = kind == "Exists",
                                 .effect = text_at(toleration, {"effect"})});
  }
  return rules;
}

NodeRules both(const NodeRules& one, const NodeRules& other) {
  NodeRules rules = one;
  for (const LabelRule& rule : other.selector) {
    if (std::ranges::count(one.selector, rule) == 0) rules.selector.push_back(rule);
  }
  std::erase_if(rules.tolerations, [&](const Toleration& toleration) {
    return std::ranges::count(other.tolerations, toleration) == 0;
  });
  if (!one.has_terms) rules.terms = other.terms;
  rules.has_terms = one.has_terms || other.has_terms;
  if (!one.has_terms || !other.has_terms || one.terms == other.terms) return rules;
  rules.terms.clear();
  for (const NodeTerm& first : one.terms) {
    for (const NodeTerm& second : other.terms) {
      if (is_empty(first) || is_empty(second)) continue;
      NodeTerm& term = rules.terms.emplace_back(first);
      term.labels.insert(term.labels.end(), second.labels.begin(), second.labels.end());
      term.names.insert(term.names.end(), second.names.begin(), second.names.end());
    }
  }
  return rules;
}

bool labels_admit(const NodeRules& rules, const Node& node) {
  return std::ranges::all_of(rules.selector,
                             [&](const LabelRule& rule) { return matches(rule, node); }) &&
         (!rules.has_terms || std::ranges::any_of(rules.terms, [&](const NodeTerm& term) {
           return matches(term, node);
         }));
}

std::string obstacle(const NodeRules& rules, const Node& node) {
  for (const LabelRule& rule : rules.selector) {
    if (!matches(rule, node)) {
      return fmt::format("without label {}={}", rule.key, rule.values.front());
    }
  }
  const auto matches_here = [&](const NodeTerm& term) { return matches(term, node); };
  if (rules.has_terms && std::ranges::none_of(rules.terms, matches_here)) {
    return "that its node affinity leaves out";
  }
  for (const Taint& taint : node.taints) {
    const bool is_tolerated = std::ranges::any_of(
        rules.tolerations, [&](const Toleration& each) { return tolerates(each, taint); });
    if (!is_tolerated) return fmt::format("with taint {}", taint_text(taint));
  }
  return {};
}

std::string taint_text(const Taint& taint) {
  return fmt::format("{}{}{}:{}", taint.key, taint.value.empty() ? "" : "=", taint.value,
                     taint.effect);
}

}  // namespace fairlead
