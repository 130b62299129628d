#include "fairlead/pods/inventory.h"

#include "fairlead/pods/kind_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace fairlead {
namespace {

// Divides each of `kinds` into the nodes that suit pods with `needs`, and the rest.
std::vector<NodeKind> divided(const std::vector<NodeKind>& kinds, const PodNeeds& needs) {
  std::vector<NodeKind> parts;
  for (const NodeKind& kind : kinds) {
    NodeKind open{.product = kind.product};
    NodeKind closed{.product = kind.product};
    for (const Node* node : kind.nodes) {
      (obstacle(needs, *node).empty() ? open : closed).nodes.push_back(node);
    }
    if (!open.nodes.empty()) parts.push_back(std::move(open));
    if (!closed.nodes.empty()) parts.push_back(std::move(closed));
  }
  return parts;
}

std::vector<NodeKind> kinds_of(const Inventory::Nodes& nodes, const std::set<PodNeeds>& asked) {
  std::map<std::string, NodeKind> by_product;
  for (const auto& [name, node] : nodes) {
    if (node.gpus_all == 0) continue;
    const std::string type = gpu_type_of(node.product, node.slots_per_gpu > 0);
    NodeKind& kind = by_product[type];
    kind.product = type;
    kind.nodes.push_back(&node);
  }
  std::vector<NodeKind> kinds;
  kinds.reserve(by_product.size());
  for (auto& [product, kind] : by_product) kinds.push_back(std::move(kind));
  for (const PodNeeds& needs : asked) {
    std::vector<NodeKind> parts = divided(kinds, needs);
    if (parts.size() <= kGpuTypesMax) kinds = std::move(parts);
  }
  return kinds;
}

}  // namespace

Inventory::Inventory(const Nodes& nodes, const std::set<PodNeeds>& asked, const NodeLevels& levels)
    : nodes_(nodes), levels_(levels) {
  std::vector<NodeKind> kinds = kinds_of(nodes, asked);
  name_kinds(kinds, asked);
  for (const NodeKind& kind : kinds) {
    for (const Node* node : kind.nodes) {
      specs_[node->name] = {.name = node->name,
                            .gpu_type = kind.name,
                            .gpus = std::min(node->gpus_all, kNodeGpusMax),
                            .host{},
                            .rack = levels_.rack_of(*node)};
    }
  }
}

std::vector<NodeSpec> Inventory::specs() const {
  std::vector<NodeSpec> specs;
  specs.reserve(specs_.size());
  for (const auto& [name, spec] : specs_) specs.push_back(spec);
  return specs;
}

const std::set<std::string>& Inventory::kinds_for(const PodNeeds& needs) {
  const auto found = answers_.find(needs);
  return found != answers_.end() ? found->second
                                 : answers_.emplace(needs, open_kinds(needs)).first->second;
}

std::set<std::string> Inventory::open_kinds(const PodNeeds& needs) const {
  std::set<std::string> open;
  std::set<std::string> closed;
  for (const auto& [name, spec] : specs_) {
    const auto node = nodes_.find(name);
    if (node == nodes_.end() || node->second.gpus_all == 0) continue;
    (obstacle(needs, node->second).empty() ? open : closed).insert(spec.gpu_type);
  }
  std::erase_if(open, [&](const std::string& kind) { return closed.contains(kind); });
  return open;
}

std::string Inventory::why_none(const PodNeeds& needs) const {
  std::map<std::string, int> reasons;
  int nodes = 0;
  for (const auto& [name, node] : nodes_) {
    if (node.gpus_all == 0) continue;
    ++nodes;
    const std::string why = obstacle(needs, node);
    ++reasons[why.empty()
                  ? fmt::format("that only more than {} types would distinguish from others",
                                kGpuTypesMax)
                  : why];
  }
  std::string text = fmt::format("none of {} nodes with GPUs will do", nodes);
  for (const auto& [why, count] : reasons) {
    text += fmt::format("{} {} {}", text.find(':') == text.npos ? ":" : ",", count, why);
  }
  return text;
}

bool Inventory::has(const NodeSpec& spec) const {
  const auto found = specs_.find(spec.name);
  return found != specs_.end() && found->second.rack == spec.rack &&
         found->second.gpus >= spec.gpus &&
         product_of_type(found->second.gpu_type) == product_of_type(spec.gpu_type);
}

bool Inventory::still_fit(const std::set<PodNeeds>& asked) const {
  const Inventory now(nodes_, asked, levels_);
  std::map<std::string, std::string> kinds;  // the new name of each present type
  for (const auto& [name, spec] : now.specs_) {
    if (!has(spec)) return false;
    const auto [kind, is_new] = kinds.emplace(specs_.at(name).gpu_type, spec.gpu_type);
    if (!is_new && kind->second != spec.gpu_type) return false;
  }
  return std::ranges::all_of(asked, [&](const PodNeeds& needs) {
    const auto answer = answers_.find(needs);
    if (answer == answers_.end()) return true;
    std::set<std::string> then = answer->second;
    std::erase_if(then, [&](const std::string& kind) { return !kinds.contains(kind); });
    return then == open_kinds(needs);
  });
}

TypeMask types_named(const std::set<std::string>& names, const Cluster& cluster) {
  TypeMask types = 0;
  for (const std::string& name : names) {
    const GpuTypeId type = cluster.type_named(name);
    if (!type.is_none()) types |= type_bit(type);
  }
  return types;
}

}  // namespace fairlead
