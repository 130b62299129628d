// Failures of the simulated world: nodes or some of their GPUs from a list, or whole nodes and whole
// racks, drawn from exponential times between failures and to repair. Seeded, so runs with faults
// are repeatable.
//
// A GPU is up while nothing keeps it down: a node that fails while its rack is down comes back when
// both are repaired.
#pragma once

#include "fairlead/base/indexed_heap.h"
#include "fairlead/base/rng.h"
#include "fairlead/base/units.h"
#include "fairlead/model/cluster.h"
#include "fairlead/model/outage.h"

#include <cstdint>
#include <vector>

namespace fairlead {

struct FaultOptions {
  double mtbf_h = 0;       // mean time between failures of one node, hours; 0: no such failures
  double rack_mtbf_h = 0;  // MTBF of one rack, hours; its nodes fail and come back together
  double mttr_h = 1;       // mean time to repair a node or a rack, hours
  // Replaces random failures if not empty. The outages of one GPU do not overlap.
  std::vector<NodeOutage> outages;
  // A job that loses its gang keeps the work up to its last checkpoint; 0: it keeps all.
  Duration checkpoint_interval = seconds(1800);
};

// The next change of the nodes. O(log nodes) per node that changes.
class Faults {
 public:
  Faults(const Cluster& cluster, const FaultOptions& options, std::uint64_t seed);

  // Returns the time of the next change; Time::never() if there is none. The change may turn out to be empty.
  Time next() const;
  bool all_up() const { return nodes_down_ == 0; }
  struct Change {
    NodeId node;
    std::uint64_t gpus;  // kAllGpus: whatever it has
    bool up;
  };
  // Returns the changes at next(), in node order, failures of a node first. Valid until the next call. REQUIRES: next()
  // is not never.
  const std::vector<Change>& pop();

 private:
  struct Listed {
    Time t;
    NodeId node;
    std::uint64_t gpus;
    bool up;
  };
  struct Node {
    std::uint64_t has = 0;
    std::uint64_t listed = 0;  // down by the list
    std::uint64_t down = 0;    // by anything
    bool has_failed = false;   // by itself
    RackId rack;
  };

  void list(const Cluster& cluster, const std::vector<NodeOutage>& outages);
  Time drawn_after(Time t, bool is_down, double mtbf_h, Rng& rng) const;
  void apply_listed(Time t);
  void apply_drawn(Time t);
  void settle(NodeId id);

  double mtbf_h_, rack_mtbf_h_, mttr_h_;
  std::vector<Listed> listed_;  // by time
  std::size_t next_listed_ = 0;
  IndexedHeap<Time, NodeId> node_changes_;
  IndexedHeap<Time, RackId> rack_changes_;
  IdVector<NodeId, Rng> node_rngs_;
  IdVector<RackId, Rng> rack_rngs_;
  IdVector<NodeId, Node> nodes_;
  IdVector<RackId, NodeRange> racks_;
  IdVector<RackId, bool> rack_has_failed_;
  std::size_t nodes_down_ = 0;  // wholly or in part
  std::vector<NodeId> touched_;
  std::vector<Change> changes_;
};

}  // namespace fairlead
