// The levels of the network that labels of nodes state, and the levels that gangs ask for by such labels.
#pragma once

#include "fairlead/model/cluster_build.h"
#include "fairlead/model/job_asks.h"
#include "fairlead/pods/node.h"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fairlead {

// The label of the narrowest level, one node.
constexpr std::string_view kHostname = "kubernetes.io/hostname";

class NodeLevels {
 public:
  // Racks alone, by the usual labels.
  NodeLevels();
  // Racks alone: the rack of a node is the first of these labels that it has.
  static NodeLevels of_racks(std::vector<std::string> labels);
  // A level for each label, outer to inner; the last is the rack. Error: there are more than kLevelMax - 1.
  static Result<NodeLevels> of_levels(std::vector<std::string> labels);

  // Returns the node's rack, for NodeSpec::rack; empty: it has none of the labels. With several levels it is a path,
  // "zone-1/block-2/rack-3", with "-" for a label that the node lacks.
  std::string rack_of(const Node& node) const;
  // Returns the switches above the racks of these nodes. O(nodes x levels, log).
  FabricSpec fabric_of(std::span<const NodeSpec> nodes) const;
  // Returns the level of a label; nothing: nodes have no such level. O(labels).
  std::optional<Level> level_of(std::string_view label) const;
  // Returns the labels of the levels, "zone,block,rack"; empty: racks alone.
  std::string text() const;

 private:
  bool has_levels() const { return !levels_.empty(); }

  std::vector<std::string> racks_;
  std::vector<std::string> levels_{};
};

}  // namespace fairlead
