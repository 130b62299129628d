// The nodes that a pod may be on, by its node selector, its required node affinity and its tolerations,
// with the rules of Kubernetes.
#pragma once

#include "fairlead/base/result.h"
#include "fairlead/pods/node.h"

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

namespace fairlead {

// A condition on a label, or on the name, of a node.
struct LabelRule {
  enum class Kind : std::uint8_t {
    kIn,
    kNotIn,  // matches also without such a label
    kExists,
    kDoesNotExist,
    kGt,  // as a whole number
    kLt,
  };
  std::string key;
  Kind kind = Kind::kIn;
  std::vector<std::string> values;
  friend auto operator<=>(const LabelRule&, const LabelRule&) = default;
};

// Matches if all of its rules match; a term without rules never matches.
struct NodeTerm {
  std::vector<LabelRule> labels;
  std::vector<LabelRule> names;
  friend auto operator<=>(const NodeTerm&, const NodeTerm&) = default;
};

struct Toleration {
  std::string key;  // empty: every taint
  std::string value;
  bool is_any_value = false;
  std::string effect;  // empty: every effect
  friend auto operator<=>(const Toleration&, const Toleration&) = default;
};

struct NodeRules {
  std::vector<LabelRule> selector;  // all must match
  bool has_terms = false;
  std::vector<NodeTerm> terms;  // if there are terms, one must match
  std::vector<Toleration> tolerations;
  friend auto operator<=>(const NodeRules&, const NodeRules&) = default;
};

// Parses a pod's rules. Error: an unknown operator.
Result<NodeRules> parse_node_rules(const Json& pod_spec);

// Returns rules that match a node if both given ones do.
NodeRules both(const NodeRules& one, const NodeRules& other);

// Returns true if the selector and the terms match the node, whatever its taints.
bool labels_admit(const NodeRules& rules, const Node& node);

// Returns why pods with these rules may not be on the node: "without label pool=a"; empty: they may.
// Taints that come and go with a node's health are in Node::is_cordoned and Node::is_ready instead.
std::string obstacle(const NodeRules& rules, const Node& node);

// Returns "dedicated=vision:NoSchedule".
std::string taint_text(const Taint& taint);

}  // namespace fairlead
