// HomeChoice: which GPU type and which node a job is to be kept on (Gandiva_fair).
//
// Types: "the fastest GPU subject to contention". Nodes: the tightest one where the job and all others
// fit; else, of those with the least to do, the one that can serve it best (Tiling). Jobs that no
// node is large enough for get slices of several nodes.
//
// It looks and changes nothing. Slices that it returns are valid until it is asked again.
//
// Cost: O(nodes) in a full cluster; O(nodes log nodes) for a job of several nodes.
#pragma once

#include "fairlead/policy/gandiva_fair/homes.h"

#include <vector>

namespace fairlead {

// The job's speed on the type; unknown: the slowest that is known of it, or else 1. O(types).
double speed_on(const View& view, JobId job, GpuTypeId type);

class HomeChoice {
 public:
  // Both must outlive it.
  HomeChoice(const Homes& homes, const Accounts& accounts) : homes_(homes), accounts_(accounts) {}

  // On the best type that has room for it; on several types only if none has enough; or none.
  // REQUIRES: the job is kept nowhere.
  Home find(const View& view, JobId job);
  // A node of the type for a job that fits there, or none.
  NodeId find_node(const View& view, JobId job, GpuTypeId type);
  // Slices of nodes of these types, whole tasks on each, or none: nodes with the least to do, where
  // other spread jobs count double as nothing runs beside them; but rather a set that another such
  // job uses, as long as it has hardly more to do. The job then counts on the type of the first.
  Home find_slices(const View& view, JobId job, TypeMask types);
  // Whether the nodes that are up could hold the job if they were empty.
  bool fits_when_empty(const View& view, JobId job) const;

 private:
  // A node in an order by `key`.
  struct Ranked {
    double key;
    NodeId node;
  };

  void order_types(const View& view, JobId job);
  double score(const View& view, JobId job, GpuTypeId type) const;
  void list_least_loaded(GpuTypeId type, std::uint32_t gpus);
  bool take_close(const View& view, JobId job, TypeMask types);
  bool take_least_busy(const View& view, JobId job, TypeMask types, NodeRange range);
  const Homes::Spread* find_alike(const View& view, JobId job, TypeMask types) const;
  double busy_time(NodeId node) const;

  const Homes& homes_;
  const Accounts& accounts_;

  // Workspace.
  std::vector<GpuTypeId> types_;
  std::vector<double> scores_;  // by type
  std::vector<Ranked> candidates_;
  std::vector<Slice> slices_;
  double busiest_ = 0;  // of slices_
};

}  // namespace fairlead
