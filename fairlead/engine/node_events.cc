#include "fairlead/engine/node_events.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace fairlead {

void NodeEvents::join(const NodeJoin& join) {
  const Cluster& cluster = state_.tables.cluster;
  if (join.node.row() != cluster.nodes() || !cluster.can_add(join.row)) return;
  state_.log(record::Node{.node = join.node,
                          .name = join.row.name,
                          .type = join.row.type,
                          .host = join.row.host,
                          .rack = join.row.rack,
                          .gpus = join.row.gpus});
  state_.add_node();
  instant_.add_news(EventKind::kGpusUp, join.node);
}

bool NodeEvents::apply(const Event& event) {
  switch (event.kind) {
    case EventKind::kGpusDown:
      return take_gpus_down(event.node, event.gpus);
    case EventKind::kGpusUp:
      return bring_gpus_up(event.node, event.gpus);
    case EventKind::kCordoned:
      return cordon(event.node, event.reason);
    case EventKind::kUncordoned:
      return uncordon(event.node);
    case EventKind::kRoomUp:
      instant_.add_news(EventKind::kGpusUp, event.node);
      return true;
    default:
      return false;
  }
}

bool NodeEvents::cordon(NodeId node, std::string_view reason) {
  if (state_.tables.cordoned.contains(node)) return false;
  state_.log(record::Cordoned{node, reason});
  return true;
}

bool NodeEvents::uncordon(NodeId node) {
  if (!state_.tables.cordoned.contains(node)) return false;
  state_.log(record::Uncordoned{node});
  refresh_capacity(node);
  return true;
}

bool NodeEvents::take_gpus_down(NodeId node, std::uint64_t gpus) {
  const Tables::NodeState& state = state_.tables.nodes[node];
  const std::uint64_t down = gpus & state.up;
  if (down == 0) return false;
  // Jobs that still have some of these GPUs: their evictions were not reported, or never will be.
  if ((down & ~state.free) != 0) evict_from(node, down);
  const bool is_whole = down == state.has;
  state_.log(record::GpusDown{node, is_whole ? kAllGpus : down});
  refresh_capacity(node);
  return true;
}

void NodeEvents::evict_from(NodeId node, std::uint64_t gpus) {
  const Jobs& jobs = state_.tables.jobs;
  std::vector<JobId> victims;
  for (JobId job : state_.tables.running.members()) {
    const auto masks = jobs.gangs.gpu_masks(jobs.last[job]);
    std::size_t i = 0;
    for (Slice slice : jobs.last_gang(job)) {
      if (slice.node == node && (masks[i] & gpus) != 0) victims.push_back(job);
      ++i;
    }
  }
  std::ranges::sort(victims);
  for (JobId job : victims) {
    instant_.add_stop(job, jobs.run[job]);
    state_.lose_run(job);
    state_.log(record::Evicted{job, {}});
    instant_.add_news(EventKind::kEvicted, job);
  }
}

bool NodeEvents::bring_gpus_up(NodeId node, std::uint64_t gpus) {
  const Tables::NodeState& state = state_.tables.nodes[node];
  const std::uint64_t back = gpus & state.has & ~state.up;
  if (back == 0) return false;
  state_.log(record::GpusUp{node, back == state.has ? kAllGpus : back});
  refresh_capacity(node);
  return true;
}

void NodeEvents::refresh_capacity(NodeId node) {
  const FreeIndex& free = state_.plan.free();
  const std::uint32_t before = free.capacity(node);
  state_.refresh_capacity(node);
  const std::uint32_t after = free.capacity(node);
  if (after == before) return;
  instant_.add_news(after < before ? EventKind::kGpusDown : EventKind::kGpusUp, node);
}

void NodeEvents::close_idle_gpus() {
  for (NodeId node : state_.tables.cordoned) {
    const Tables::NodeState& state = state_.tables.nodes[node];
    const std::uint64_t idle = state.up & state.free & ~state.closed;
    if (idle == 0) continue;
    state_.log(record::Closed{node, idle});
    refresh_capacity(node);
  }
}

}  // namespace fairlead
