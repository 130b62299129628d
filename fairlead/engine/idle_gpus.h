// The GPUs in service that no gang has, as jobs of an order take them one after another.
#pragma once

#include "fairlead/engine/tables.h"

#include <cstdint>

namespace fairlead {

class IdleGpus {
 public:
  // REQUIRES: the tables outlive this, and do not change.
  explicit IdleGpus(const Tables& tables);

  // Takes the GPUs of a job: of one type, each task on one node. A job that keeps its work in its processes takes its last
  // GPUs again. Limits on tasks by other resources do not count. Returns false, without effect, if too few are idle.
  // O(types), or O(nodes) if the types have enough. REQUIRES: the tables have the job.
  bool take(JobId job);

 private:
  bool take_last(JobId job);
  bool take_of_type(GpuTypeId type, std::uint32_t tasks, std::uint32_t task_gpus);
  void take_of_node(NodeId node, std::uint64_t gpus);

  const Tables& tables_;
  IdVector<NodeId, std::uint64_t> idle_;        // masks
  IdVector<GpuTypeId, std::uint64_t> of_type_;  // numbers
};

// Returns the number of GPUs in service of these types that the limits on tasks leave to the job if no other job has any. The
// job may be missing in the tables: then each of its tasks has one GPU. O(nodes).
std::uint64_t usable_gpus(const Tables& tables, JobId job, TypeMask types);

}  // namespace fairlead
