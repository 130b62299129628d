#include "fairlead/sim/faults.h"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace fairlead {

Faults::Faults(const Cluster& cluster, const FaultOptions& options, std::uint64_t seed)
    : mtbf_h_(options.outages.empty() ? options.mtbf_h : 0),
      rack_mtbf_h_(options.outages.empty() ? options.rack_mtbf_h : 0),
      mttr_h_(options.mttr_h),
      racks_(cluster.rack_nodes),
      rack_has_failed_(cluster.rack_nodes.size(), false) {
  FL_CHECK((mtbf_h_ <= 0 && rack_mtbf_h_ <= 0) || mttr_h_ > 0, "a node takes {} h to repair",
           mttr_h_);
  const Rng root(seed);
  for (NodeId id : ids<NodeId>(cluster.nodes())) {
    const std::uint64_t has = ~std::uint64_t{0} >> (kNodeGpusMax - cluster.node_gpus[id]);
    nodes_.push_back({.has = has, .rack = cluster.node_rack[id]});
    node_rngs_.push_back(root.split(id.row()));
    if (mtbf_h_ > 0) node_changes_.set(id, drawn_after(Time{0}, false, mtbf_h_, node_rngs_[id]));
  }
  const Rng of_racks = root.split(0x7261636b73);
  for (RackId rack : ids<RackId>(racks_.size())) {
    rack_rngs_.push_back(of_racks.split(rack.row()));
    if (rack_mtbf_h_ <= 0) continue;
    rack_changes_.set(rack, drawn_after(Time{0}, false, rack_mtbf_h_, rack_rngs_[rack]));
  }
  list(cluster, options.outages);
}

void Faults::list(const Cluster& cluster, const std::vector<NodeOutage>& outages) {
  for (const NodeOutage& outage : outages) {
    FL_CHECK(nodes_.has(outage.node) && outage.down <= outage.up,
             "an outage of node {} from {} ms to {} ms", outage.node.row(), outage.down.ms,
             outage.up.ms);
    const std::uint64_t gpus = outage.gpus & nodes_[outage.node].has;
    if (outage.down == outage.up) continue;
    listed_.push_back({outage.down, outage.node, gpus, false});
    if (outage.up != Time::never()) listed_.push_back({outage.up, outage.node, gpus, true});
  }
  // A node or GPU comes up before it may go down again.
  std::ranges::stable_sort(listed_, {}, [](const Listed& change) {
    return std::tuple(change.t, !change.up, change.node);
  });
  IdVector<NodeId, std::uint64_t> down(cluster.nodes(), 0);
  for (const Listed& change : listed_) {
    FL_CHECK(change.up || (down[change.node] & change.gpus) == 0,
             "node {} is to fail while it is down", change.node.row());
    down[change.node] ^= change.gpus;
  }
}

Time Faults::next() const {
  Time t = next_listed_ < listed_.size() ? listed_[next_listed_].t : Time::never();
  if (!node_changes_.empty()) t = std::min(t, node_changes_.top().key);
  if (!rack_changes_.empty()) t = std::min(t, rack_changes_.top().key);
  return t;
}

const std::vector<Faults::Change>& Faults::pop() {
  const Time t = next();
  FL_CHECK(t != Time::never(), "no node changes any more");
  touched_.clear();
  changes_.clear();
  apply_listed(t);
  apply_drawn(t);
  std::ranges::sort(touched_);
  touched_.erase(std::unique(touched_.begin(), touched_.end()), touched_.end());
  for (NodeId id : touched_) settle(id);
  return changes_;
}

void Faults::apply_listed(Time t) {
  for (; next_listed_ < listed_.size() && listed_[next_listed_].t == t; ++next_listed_) {
    const Listed& change = listed_[next_listed_];
    nodes_[change.node].listed ^= change.gpus;
    touched_.push_back(change.node);
  }
}

void Faults::apply_drawn(Time t) {
  while (!node_changes_.empty() && node_changes_.top().key == t) {
    const NodeId id = node_changes_.pop().id;
    bool& has_failed = nodes_[id].has_failed;
    has_failed = !has_failed;
    node_changes_.set(id, drawn_after(t, has_failed, mtbf_h_, node_rngs_[id]));
    touched_.push_back(id);
  }
  while (!rack_changes_.empty() && rack_changes_.top().key == t) {
    const RackId rack = rack_changes_.pop().id;
    const bool has_failed = !rack_has_failed_[rack];
    rack_has_failed_[rack] = has_failed;
    rack_changes_.set(rack, drawn_after(t, has_failed, rack_mtbf_h_, rack_rngs_[rack]));
    for (std::uint32_t row = racks_[rack].begin; row < racks_[rack].end; ++row) {
      touched_.push_back(NodeId(row));
    }
  }
}

// Lists the changes of the node since the last call.
void Faults::settle(NodeId id) {
  Node& node = nodes_[id];
  const bool is_whole = node.has_failed || rack_has_failed_[node.rack];
  const std::uint64_t down = is_whole ? node.has : node.listed;
  const std::uint64_t before = std::exchange(node.down, down);
  const auto change = [&](std::uint64_t gpus, bool up) {
    if (gpus != 0) changes_.push_back({id, gpus == node.has ? kAllGpus : gpus, up});
  };
  change(down & ~before, false);
  change(before & ~down, true);
  nodes_down_ += down != 0 ? 1 : 0;
  nodes_down_ -= before != 0 ? 1 : 0;
}

// When a node or rack changes next that is up, or down, since `t`.
Time Faults::drawn_after(Time t, bool is_down, double mtbf_h, Rng& rng) const {
  const double ms = std::ceil(rng.exponential(is_down ? mttr_h_ : mtbf_h) * 3'600'000.0);
  return t + Duration{std::max<std::int64_t>(1, std::llround(ms))};
}

}  // namespace fairlead
