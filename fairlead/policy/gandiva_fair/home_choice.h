// HomeChoice: chooses the GPU type and the node that a job is kept on (Gandiva_fair).
//
// Types: "the fastest GPU subject to contention". Nodes: the tightest node where the job and all
// others fit. If there is none: among the least loaded nodes, the node that can serve it best
// (Tiling). A job too large for every node gets slices of several nodes.
//
// HomeChoice changes nothing. The slices that it returns are valid until its next call.
//
// Cost: O(k log k) in a full cluster, if the k least loaded nodes include 8 with room; O(nodes log nodes) for a job of
// several nodes.
#pragma once

#include "fairlead/policy/gandiva_fair/homes.h"

#include <vector>

namespace fairlead {

// Returns the job's speed on the type. If unknown: the slowest known speed of the job, or else 1.
// O(types).
double speed_on(const View& view, JobId job, GpuTypeId type);

// Returns whether the job fits on the node, by other resources than GPUs, if no other job is there.
bool fits_when_idle(const View& view, JobId job, NodeId node);

class HomeChoice {
 public:
  // Both must outlive it.
  HomeChoice(const Homes& homes, const Accounts& accounts) : homes_(homes), accounts_(accounts) {}

  // Returns a home on the best type that has room; on several types only if none has enough; or
  // none. A pinned job returns to its last home, even if that has no room. REQUIRES: the job is kept nowhere.
  Home find(const View& view, JobId job);
  // Returns a home on the type: a node, slices if the job is too large for each node, or none.
  Home find_on(const View& view, JobId job, GpuTypeId type);
  // Returns slices of the least loaded nodes of these types, whole tasks on each, or none. Other
  // spread jobs count double, because nothing runs beside them. The nodes of another such job are
  // preferred if they have hardly more load. The job then counts on the type of the first slice.
  Home find_slices(const View& view, JobId job, TypeMask types);
  // Returns a home of the type on GPUs that no kept job needs, near each other as the job asks; or none.
  Home find_spare(const View& view, JobId job, GpuTypeId type);
  // Returns true if the nodes that are up would have room for the job if they were empty.
  bool fits_when_empty(const View& view, JobId job) const;

 private:
  // A node in an order by `key`.
  struct Ranked {
    double key;
    NodeId node;
  };

  NodeId find_node(const View& view, JobId job, GpuTypeId type);
  Home last_home(const View& view, JobId job);
  void order_types(const View& view, JobId job);
  double score(const View& view, JobId job, GpuTypeId type);
  void list_least_loaded(const View& view, JobId job, GpuTypeId type);
  bool is_for_several(const View& view, JobId job, GpuTypeId type) const;
  bool take_close(const View& view, JobId job, TypeMask types, bool only_spare);
  bool take_least_busy(const View& view, JobId job, TypeMask types, bool only_spare,
                       NodeRange range);
  const SpreadJob* find_alike(const View& view, JobId job, TypeMask types) const;
  double busy_time(NodeId node) const;

  const Homes& homes_;
  const Accounts& accounts_;

  // Workspace.
  std::vector<GpuTypeId> types_;
  std::vector<double> scores_;  // by type
  std::vector<Ranked> candidates_;
  std::vector<std::uint32_t> ahead_;  // workspace of IndexedHeap::rising
  std::vector<Slice> slices_;
  double busiest_ = 0;  // largest busy time in slices_
};

}  // namespace fairlead
