#include "fairlead/sim/faults.h"

#include <algorithm>
#include <cmath>

namespace fairlead {

Faults::Faults(const Cluster& cluster, const FaultOptions& options, std::uint64_t seed)
    : options_(options), is_down_(cluster.nodes(), false), listed_(cluster.nodes()) {
  FL_CHECK(options.mtbf_h <= 0 || options.mttr_h > 0, "a node takes {} h to repair",
           options.mttr_h);
  const Rng root(seed);
  for (NodeId node : ids<NodeId>(cluster.nodes())) rngs_.push_back(root.split(node.row()));
  for (const NodeOutage& outage : options.outages) {
    FL_CHECK(listed_.has(outage.node) && outage.down <= outage.up,
             "an outage of node {} from {} ms to {} ms", outage.node.row(), outage.down.ms,
             outage.up.ms);
    FL_CHECK(listed_[outage.node].empty() || listed_[outage.node].back() <= outage.down,
             "node {} is to fail while it is down", outage.node.row());
    listed_[outage.node].push_back(outage.down);
    if (outage.up != Time::never()) listed_[outage.node].push_back(outage.up);
  }
  for (NodeId node : ids<NodeId>(cluster.nodes())) {
    std::ranges::reverse(listed_[node]);
    schedule(node, Time{0});
  }
}

Faults::Change Faults::pop() {
  FL_CHECK(!changes_.empty(), "no node changes any more");
  const auto [t, node] = changes_.pop();
  const bool up = is_down_[node];
  is_down_[node] = !up;
  up ? --down_ : ++down_;
  FL_CHECK(down_ <= is_down_.size(), "{} of {} nodes are down", down_, is_down_.size());
  schedule(node, t);
  return {node, up};
}

// A node has either listed changes or drawn ones: a list is what its operator recorded.
void Faults::schedule(NodeId node, Time after) {
  std::vector<Time>& listed = listed_[node];
  if (!listed.empty()) {
    changes_.set(node, listed.back());
    listed.pop_back();
    return;
  }
  if (options_.mtbf_h <= 0 || !options_.outages.empty()) return;
  const double mean_h = is_down_[node] ? options_.mttr_h : options_.mtbf_h;
  const double ms = std::ceil(rngs_[node].exponential(mean_h) * 3'600'000.0);
  changes_.set(node, after + Duration{std::max<std::int64_t>(1, std::llround(ms))});
}

}  // namespace fairlead
