// Node failures of the simulated world: from a list, or drawn per node from exponential times
// between failures and to repair. Seeded, so runs with faults are repeatable.
#pragma once

#include "fairlead/base/indexed_heap.h"
#include "fairlead/base/rng.h"
#include "fairlead/base/units.h"
#include "fairlead/model/cluster.h"

#include <cstdint>
#include <vector>

namespace fairlead {

struct NodeOutage {
  NodeId node;
  Time down;
  Time up;  // Time::never(): it stays down
};

struct FaultOptions {
  double mtbf_h = 0;  // mean time between failures of one node, hours; 0: no random failures
  double mttr_h = 1;  // mean time to repair, hours
  // Besides; per node in time order and not overlapping.
  std::vector<NodeOutage> outages;
  // A job that loses its gang keeps the work up to its last checkpoint; 0: it keeps all.
  Duration checkpoint_interval = seconds(1800);
};

// The next change of each node. O(log nodes) per change.
class Faults {
 public:
  Faults(const Cluster& cluster, const FaultOptions& options, std::uint64_t seed);

  // Time::never() if nothing will change.
  Time next() const { return changes_.empty() ? Time::never() : changes_.top().key; }
  bool all_up() const { return down_ == 0; }
  struct Change {
    NodeId node;
    bool up;
  };
  // REQUIRES: next() is not never. In node order at equal times.
  Change pop();

 private:
  void schedule(NodeId node, Time after);

  FaultOptions options_;
  IndexedHeap<Time, NodeId> changes_;
  IdVector<NodeId, bool> is_down_;
  IdVector<NodeId, Rng> rngs_;
  IdVector<NodeId, std::vector<Time>> listed_;  // latest first: alternately up, down
  std::size_t down_ = 0;
};

}  // namespace fairlead
