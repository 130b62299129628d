// Events of nodes: GPUs that go down and come up, cordons, nodes that join.
//
// Jobs on GPUs that go down are evicted, if the world did not report that. A cordoned node keeps its jobs, and its
// idle GPUs close. The policy gets an event when the number of GPUs in service of a node changes.
//
// O(1) each; O(running) if GPUs go down that jobs have, O(cordoned nodes) for close_idle_gpus.
#pragma once

#include "fairlead/engine/engine_state.h"
#include "fairlead/engine/instant.h"

#include <cstdint>
#include <string_view>

namespace fairlead {

class NodeEvents {
 public:
  // Both must outlive this object.
  NodeEvents(EngineState& state, Instant& instant) : state_(state), instant_(instant) {}

  // Adds a node. Known ones are ignored.
  void join(const NodeJoin& join);
  // The next five return false, without effect, if they change nothing. REQUIRES: the node exists.
  bool apply(const Event& event);
  bool take_gpus_down(NodeId node, std::uint64_t gpus);
  bool bring_gpus_up(NodeId node, std::uint64_t gpus);
  bool cordon(NodeId node, std::string_view reason);
  bool uncordon(NodeId node);
  // Closes the GPUs of cordoned nodes that have fallen idle. Called after all events of an instant.
  void close_idle_gpus();

 private:
  void evict_from(NodeId node, std::uint64_t gpus);
  void refresh_capacity(NodeId node);

  EngineState& state_;
  Instant& instant_;
};

}  // namespace fairlead
