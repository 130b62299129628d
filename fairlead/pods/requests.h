// What is asked of the API server for a gang. Each says of which object it was meant, by uid or
// version: on another, or one that has changed, it has no effect.
#pragma once

#include "fairlead/kube/door.h"
#include "fairlead/pods/members.h"
#include "fairlead/pods/owner.h"

#include <cstdint>
#include <string>

namespace fairlead {

// With `gpus`, on a node with slots: these are its GPUs, and it is to run. 0: the kubelet chooses.
KubeRequest binding(const Pod& pod, const std::string& node, std::uint64_t gpus);
// The wish that it run or rest in place (pods/slots.h).
KubeRequest turn(const Pod& pod, bool runs);
// Suspends the owner, marked as Fairlead's, or resumes it, and takes the mark away.
// REQUIRES: owner.kind != nullptr.
KubeRequest suspension(const Owner& owner, bool suspends);
// Says on the pod, before its eviction, that a scheduler preempts it: that counts as no failure.
KubeRequest preemption_mark(const Pod& pod, std::int64_t unix_ms);
// Deletes the pod, with its grace, unless a PodDisruptionBudget is against it (429).
KubeRequest eviction(const Pod& pod);

}  // namespace fairlead
