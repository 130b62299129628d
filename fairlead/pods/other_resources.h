// The resources of nodes other than GPUs, in the form that the engine's policies see (model/task_limits.h): CPU, memory,
// storage, the count of pods, other devices, ports of the host.
//
// A resource has a row once a gang asks for it. A node offers its amounts without the requests of the pods of others. A pod
// of a placed gang may request more than the known needs of the gang, for example for an injected sidecar; the node does
// not offer that part either.
#pragma once

#include "fairlead/model/task_limits.h"
#include "fairlead/pods/resources.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace fairlead {

class OtherResources {
 public:
  const TaskLimits& limits() const { return limits_; }
  TaskLimits& limits() { return limits_; }

  // Sets the needs of each pod with GPUs of the job's gang, without the GPUs.
  void set_needs(JobId job, const Resources& each);
  void forget(JobId job);
  // Returns an empty set for a job without needs.
  const Resources& needs_of(JobId job) const;
  // Returns true once after a resource got its row: the offers of all nodes must be set again.
  bool take_news() { return std::exchange(has_news_, false); }

  // The amounts of a node.
  struct Amounts {
    Resources allocatable;
    Resources used{};   // by pods of others and of placed gangs
    Resources known{};  // by placed gangs, as far as their needs are known
  };
  // Sets the offer of a node: what is allocatable and not used, and the known use of gangs, which the engine counts.
  // Returns true if it has more of a resource than before.
  bool set_offer(NodeId node, const Amounts& amounts);

 private:
  TaskLimits limits_;
  std::map<std::string, std::uint32_t, std::less<>> rows_;  // by name of the resource
  std::map<JobId, Resources> needs_;
  IdVector<NodeId, std::vector<std::int64_t>> offers_;
  bool has_news_ = false;
};

}  // namespace fairlead
