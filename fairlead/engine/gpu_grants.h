// GPU grants: which GPUs of its nodes each gang of a plan gets. Policies choose nodes and numbers of GPUs alone.
//
// A job that resumes on the slices of its last run gets its last GPUs if all of them are free. Other gangs get the
// lowest free GPUs of each node, and those against which the world has something last (Backend::last_choice).
//
// The tables change when a place is journalled. Until then the grants are counted here. keep, grant, journalled:
// O(slices).
#pragma once

#include "fairlead/base/ids.h"
#include "fairlead/engine/backend.h"
#include "fairlead/engine/tables.h"

#include <cstdint>

namespace fairlead {

class GpuGrants {
 public:
  // The tables must outlive this object, which writes only the GPU masks of gangs.
  explicit GpuGrants(Tables& tables) : tables_(tables), jobs_(tables.jobs) {}

  // Grants the gang its job's last GPUs, if it has the slices of the last run and all of these GPUs are free.
  // Returns whether it did. To be called for all gangs of a plan before grant() is called for one.
  bool keep(JobId job, GangRef gang);
  // Grants the gang free GPUs. REQUIRES: its nodes have enough.
  void grant(JobId job, GangRef gang, const Backend& world);
  // Called after the record of the place: the tables have the grant now.
  void journalled(Gang gang);

 private:
  // The GPUs of the node that can be granted.
  std::uint64_t free(NodeId node) {
    const Tables::NodeState& state = tables_.nodes[node];
    return state.free & ~state.closed & ~granted_.grow_to(node);
  }

  Tables& tables_;
  Jobs& jobs_;
  IdVector<NodeId, std::uint64_t> granted_;  // by node: bit i for its GPU i
};

}  // namespace fairlead
