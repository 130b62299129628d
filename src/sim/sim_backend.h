// The simulated world: clock, arrivals, progress of running jobs, completions, costs and faults.
//
// Invariants:
//  1. Progress is exact: work left is settled only when a hold begins or ends, by integer products.
//  2. Arrivals are a sorted array with a cursor, completions an indexed heap: O(log running) per
//     start, stop and finish; no allocation once warm.
//  3. It ends when nothing can change any more: no arrival left, no job running, and every node up.
#pragma once

#include "base/indexed_heap.h"
#include "engine/backend.h"
#include "model/workload.h"
#include "sim/costs.h"
#include "sim/faults.h"

#include <cstdint>
#include <vector>

namespace fairlead {

struct SimOptions {
  Costs costs;
  FaultOptions faults;
  std::uint64_t seed = 0;
};

class SimBackend : public Backend, public Oracle {
 public:
  // Everything passed by reference must outlive the backend.
  SimBackend(const Cluster& cluster, const Workload& workload, const Speed& speed,
             SimOptions options);

  Batch wait(Time until, bool awaited) override;
  void apply(Time now, std::span<Step> steps) override;
  const Oracle* oracle() const override { return this; }
  Duration remaining(JobId job) const override;

 private:
  // The hold of a running job.
  struct Hold {
    Time progress_from;  // the end of its dead time
    Rate rate;
  };

  void place(Time now, Step& step);
  void settle(JobId job, Time now);
  void collect_finished();
  void collect_node_changes();
  void collect_arrivals();
  void evict_from(NodeId node);
  Work left_at(JobId job, Time now) const;

  const Workload& workload_;
  const Speed& speed_;
  SimOptions options_;
  Faults faults_;
  Time now_;
  std::vector<JobId> arrivals_;  // by time, then input order
  std::size_t next_arrival_ = 0;
  IndexedHeap<Time, JobId> completions_;
  IdVector<JobId, Work> left_;  // at progress_from, for a running job
  IdVector<JobId, Hold> holds_;
  std::vector<Event> events_;
  std::vector<JobId> victims_;
};

}  // namespace fairlead
