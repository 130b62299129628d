#include "fairlead/pods/kind_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <map>

namespace fairlead {
namespace {

// Longer texts are hard to read at a glance.
constexpr std::size_t kTextMax = 40;

using Facts = std::set<std::string>;

std::set<std::string> keys_of(const std::set<PodNeeds>& asked) {
  std::set<std::string> keys;
  for (const PodNeeds& needs : asked) {
    for (const LabelRule& rule : needs.rules.selector) keys.insert(rule.key);
    for (const NodeTerm& term : needs.rules.terms) {
      for (const LabelRule& rule : term.labels) keys.insert(rule.key);
    }
  }
  return keys;
}

// Returns a node's possible differences from others: its taints, and the labels that gangs refer to,
// without the prefixes of their keys.
Facts facts_of(const Node& node, const std::set<std::string>& keys) {
  Facts facts;
  for (const Taint& taint : node.taints) facts.insert(taint_text(taint));
  for (const std::string& key : keys) {
    const auto label = node.labels.find(key);
    if (label == node.labels.end()) continue;
    facts.insert(fmt::format("{}={}", key.substr(key.rfind('/') + 1), label->second));
  }
  return facts;
}

// Returns the facts that all of its nodes have in common.
Facts facts_of(const NodeKind& kind, const std::set<std::string>& keys) {
  Facts common = facts_of(*kind.nodes.front(), keys);
  for (const Node* node : kind.nodes) {
    const Facts facts = facts_of(*node, keys);
    std::erase_if(common, [&](const std::string& fact) { return !facts.contains(fact); });
  }
  return common;
}

// Returns the first fact that only kind `i` has. If there is none: all of its facts that some kind lacks.
std::string distinction(const std::vector<Facts>& kinds, std::size_t i) {
  std::string all;
  for (const std::string& fact : kinds[i]) {
    const auto count =
        std::ranges::count_if(kinds, [&](const Facts& facts) { return facts.contains(fact); });
    if (count == 1 && fact.size() <= kTextMax) return fact;
    if (count == std::ssize(kinds)) continue;
    all += fmt::format("{}{}", all.empty() ? "" : "&", fact);
  }
  return all.size() <= kTextMax ? all : "";
}

std::string in_small_letters(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

}  // namespace

void name_kinds(std::vector<NodeKind>& kinds, const std::set<PodNeeds>& asked) {
  const std::set<std::string> keys = keys_of(asked);
  std::map<std::string, std::vector<NodeKind*>> by_product;
  for (NodeKind& kind : kinds) by_product[kind.product].push_back(&kind);
  std::set<std::string> taken;
  for (const auto& [product, alike] : by_product) {
    std::vector<Facts> facts;
    facts.reserve(alike.size());
    for (const NodeKind* kind : alike) facts.push_back(facts_of(*kind, keys));
    for (std::size_t i = 0; i < alike.size(); ++i) {
      const std::string text = alike.size() == 1 ? "" : distinction(facts, i);
      const std::string name = fmt::format("{}{}{}", product, text.empty() ? "" : "/", text);
      alike[i]->name = name;
      for (int n = 2; !taken.insert(in_small_letters(alike[i]->name)).second; ++n) {
        alike[i]->name = fmt::format("{}{}{}", name, text.empty() ? "/" : "&", n);
      }
    }
  }
}

}  // namespace fairlead
