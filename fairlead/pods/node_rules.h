// On which nodes a pod may be, by its node selector, its required node affinity and the taints that it
// tolerates: what Kubernetes calls node selectors and tolerations, with their rules.
#pragma once

#include "fairlead/base/result.h"
#include "fairlead/pods/node.h"

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

namespace fairlead {

// What a label, or the name, of a node must be.
struct LabelRule {
  enum class Kind : std::uint8_t {
    kIn,
    kNotIn,  // or it has no such label
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

// All of its rules hold; one without any holds for no node.
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
  std::vector<LabelRule> selector;  // all hold
  bool has_terms = false;
  std::vector<NodeTerm> terms;  // one of them holds, if there are terms
  std::vector<Toleration> tolerations;
  friend auto operator<=>(const NodeRules&, const NodeRules&) = default;
};

// Error: an operator that is not known.
Result<NodeRules> parse_node_rules(const Json& pod_spec);

// The rules of both: they hold where those of each do.
NodeRules both(const NodeRules& one, const NodeRules& other);

// Why pods with these rules may not be on the node: "without label pool=a"; empty: they may. Taints
// that come and go with a node's health are left to Node::is_closed.
std::string obstacle(const NodeRules& rules, const Node& node);

// "dedicated=vision:NoSchedule".
std::string taint_text(const Taint& taint);

}  // namespace fairlead
