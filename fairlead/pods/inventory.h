// The engine's view of the cluster: its nodes, their types, and the types that suit the pods of a gang.
//
// For the engine and its policies, only the GPU type keeps a job off a node. So nodes of one GPU product
// get different types if they differ for an existing gang: by a label that it requires, by a taint that
// it does not tolerate, or because one of its pods is too large for some of them. There are as few types
// as possible, and at most as many as a TypeMask has bits. A gang that would need one more may use a
// type only if all nodes of the type suit its pods.
//
// Types are chosen once. If the nodes or the gangs change so that new types are needed, still_fit()
// returns false, and the engine must start again with another Inventory.
//
// Time: the constructor and still_fit() O(nodes x different needs), kinds_for() O(nodes).
#pragma once

#include "fairlead/model/cluster.h"
#include "fairlead/model/cluster_build.h"
#include "fairlead/pods/node_levels.h"
#include "fairlead/pods/pod_needs.h"

#include <map>
#include <set>
#include <string>
#include <vector>

namespace fairlead {

class Inventory {
 public:
  // Nodes by name; nodes without GPUs do not count.
  using Nodes = std::map<std::string, Node>;

  // REQUIRES: `nodes`, which may change later, outlives this.
  Inventory(const Nodes& nodes, const std::set<PodNeeds>& asked, const NodeLevels& levels);

  // Returns the nodes from which the engine's cluster is built, with NodeLevels::fabric_of().
  std::vector<NodeSpec> specs() const;
  // Returns the types of which all existing nodes suit such pods. The answer is remembered, and
  // still_fit() checks it too.
  const std::set<std::string>& kinds_for(const PodNeeds& needs);
  bool has_answered(const PodNeeds& needs) const { return answers_.contains(needs); }
  // Returns why kinds_for() is empty: "none of 12 nodes will do: 8 with too little memory, 4 ...".
  std::string why_none(const PodNeeds& needs) const;
  // Returns whether all answers are still right for the present nodes and for gangs with these needs.
  bool still_fit(const std::set<PodNeeds>& asked) const;

 private:
  std::set<std::string> open_kinds(const PodNeeds& needs) const;
  bool has(const NodeSpec& spec) const;

  const Nodes& nodes_;
  const NodeLevels levels_;
  std::map<std::string, NodeSpec> specs_;  // by the node's name
  std::map<PodNeeds, std::set<std::string>> answers_;
};

// Returns the types with these names. O(names x types).
TypeMask types_named(const std::set<std::string>& names, const Cluster& cluster);

}  // namespace fairlead
