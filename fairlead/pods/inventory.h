// What the cluster is, to the engine: its nodes, of which kinds they are, and on which kinds the pods
// of a gang may be.
//
// What keeps a job off a node is, to the engine and its policies, the GPU type alone. So nodes of one
// GPU product that differ for a gang that is there are of different types: by a label that it asks for,
// a taint that it does not tolerate, or as one of its pods is too large for some of them. There are as
// few types as that takes, and no more than a TypeMask holds: a gang that would need one more is kept
// to the types on all of whose nodes its pods may be.
//
// Types are made once. Where the nodes or the gangs become others so that new types would be needed,
// still_holds() says so, and the engine is to begin anew with another Inventory.
//
// Time: the constructor and still_holds() O(nodes x different needs), kinds_for() O(nodes).
#pragma once

#include "fairlead/model/cluster.h"
#include "fairlead/model/cluster_build.h"
#include "fairlead/pods/pod_needs.h"

#include <map>
#include <set>
#include <string>
#include <vector>

namespace fairlead {

// Labels of nodes that say which of them are near one another; the first that a node has is its rack.
std::vector<std::string> usual_rack_labels();

class Inventory {
 public:
  // By name; those without GPUs do not count.
  using Nodes = std::map<std::string, Node>;

  // REQUIRES: `nodes`, which may change later, outlives this.
  Inventory(const Nodes& nodes, const std::set<PodNeeds>& asked,
            const std::vector<std::string>& rack_labels);

  // What the engine's cluster is built of.
  std::vector<NodeSpec> specs() const;
  // The types on all of whose nodes that are there such pods may be. The answer is remembered:
  // still_holds() speaks of it too.
  const std::set<std::string>& kinds_for(const PodNeeds& needs);
  bool has_answered(const PodNeeds& needs) const { return answers_.contains(needs); }
  // Why kinds_for() is empty: "none of 12 nodes will do: 8 with too little memory, 4 ...".
  std::string why_none(const PodNeeds& needs) const;
  // Whether what was said is still right: of the nodes as they are now, and of gangs with these needs.
  bool still_holds(const std::set<PodNeeds>& asked) const;

 private:
  std::set<std::string> open_kinds(const PodNeeds& needs) const;
  bool has(const NodeSpec& spec) const;

  const Nodes& nodes_;
  const std::vector<std::string> rack_labels_;
  std::map<std::string, NodeSpec> specs_;  // by the node's name
  std::map<PodNeeds, std::set<std::string>> answers_;
};

// The types of those names. O(names x types).
TypeMask types_named(const std::set<std::string>& names, const Cluster& cluster);

}  // namespace fairlead
