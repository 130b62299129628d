// The cluster that the engine was built for: its nodes, their types, and when they no longer fit the real cluster.
//
// An engine's cluster never changes. It is outgrown if a node comes, or if a gang needs to distinguish nodes of one
// type (inventory.h). A new engine must then start with another cluster.
#pragma once

#include "fairlead/base/units.h"
#include "fairlead/model/cluster.h"
#include "fairlead/model/cluster_build.h"
#include "fairlead/pods/inventory.h"
#include "fairlead/pods/pod_needs.h"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace fairlead {

// Time from the first change that outgrows the cluster to its end; more changes often follow (chosen).
constexpr Duration kOutgrownLimit = seconds(10);

class EngineCluster {
 public:
  explicit EngineCluster(NodeLevels levels) : levels_(std::move(levels)) {}

  // Makes the cluster for gangs with those needs. Errors: those of build_cluster(), and no node has GPUs. REQUIRES: `nodes`
  // outlives this.
  Result<Cluster> make(const Inventory::Nodes& nodes, const std::set<PodNeeds>& asked);
  const NodeLevels& levels() const { return levels_; }
  // Keeps the row of each node. REQUIRES: make() returned the cluster last.
  void number(const Cluster& cluster);
  // Returns the row of a node; nothing if the cluster has no node of that name.
  std::optional<NodeId> row(const std::string& node) const;
  const std::map<std::string, NodeId>& rows() const { return rows_; }

  // Checks the needs of a gang that is new or has changed. `told`: the needs that the engine has for it; null: the
  // engine does not know the gang.
  void look_at(const PodNeeds& needs, const PodNeeds* told, Time now);
  // Called after a node changed: requests a check() of the cluster.
  void suspect() { is_suspect_ = true; }
  // Returns true once after a change that may have outgrown the cluster: check() is due.
  bool take_suspicion() { return std::exchange(is_suspect_, false); }
  // Outgrows the cluster if it does not fit the nodes or the gangs with those needs. O(nodes x needs).
  void check(const std::set<PodNeeds>& asked, Time now);
  void outgrow(Time now);
  bool is_outgrown() const { return ends_at_ != Time::never(); }
  // Returns when the cluster ends; Time::never() unless it is outgrown.
  Time ends_at() const { return ends_at_; }

  // Returns the node types that pods with such needs may use. REQUIRES for these three: make() was called.
  const std::set<std::string>& kinds_for(const PodNeeds& needs) {
    return inventory_->kinds_for(needs);
  }
  // Returns true if kinds_for() was called with the needs before, so the types of the cluster fit them.
  bool has_answered(const PodNeeds& needs) const { return inventory_->has_answered(needs); }
  // Returns why kinds_for() is empty: "none of 12 nodes will do: 8 with too little memory, 4 ...".
  std::string why_none(const PodNeeds& needs) const { return inventory_->why_none(needs); }

 private:
  const NodeLevels levels_;
  std::optional<Inventory> inventory_;
  std::map<std::string, NodeId> rows_;  // by name of the node
  bool is_suspect_ = false;
  Time ends_at_ = Time::never();
};

}  // namespace fairlead
