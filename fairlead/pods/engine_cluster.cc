#include "fairlead/pods/engine_cluster.h"

namespace fairlead {

Result<Cluster> EngineCluster::make(const Inventory::Nodes& nodes,
                                    const std::set<PodNeeds>& asked) {
  inventory_.emplace(nodes, asked, levels_);
  is_suspect_ = false;
  const std::vector<NodeSpec> specs = inventory_->specs();
  return build_cluster("kubernetes", {}, specs, levels_.fabric_of(specs));
}

void EngineCluster::number(const Cluster& cluster) {
  for (NodeId node : ids<NodeId>(cluster.nodes())) rows_[cluster.node_names[node]] = node;
}

std::optional<NodeId> EngineCluster::row(const std::string& node) const {
  const auto found = rows_.find(node);
  return found == rows_.end() ? std::nullopt : std::optional(found->second);
}

void EngineCluster::look_at(const PodNeeds& needs, const PodNeeds* told, Time now) {
  if (!inventory_) return;
  if (!inventory_->has_answered(needs)) is_suspect_ = true;
  if (told == nullptr || *told == needs) return;
  // The engine cannot change the types of a job that it has.
  if (inventory_->kinds_for(*told) != inventory_->kinds_for(needs)) outgrow(now);
}

void EngineCluster::check(const std::set<PodNeeds>& asked, Time now) {
  if (!is_outgrown() && !inventory_->still_fit(asked)) outgrow(now);
}

void EngineCluster::outgrow(Time now) {
  if (!is_outgrown()) ends_at_ = now + kOutgrownLimit;
}

}  // namespace fairlead
