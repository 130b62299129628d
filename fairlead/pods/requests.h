// Requests to the API server for a gang. Each names its object by uid or version, so it has no effect on
// another object or a changed one.
#pragma once

#include "fairlead/kube/door.h"
#include "fairlead/pods/devices.h"
#include "fairlead/pods/members.h"
#include "fairlead/pods/owner.h"
#include "fairlead/pods/volumes.h"

#include <cstdint>
#include <string>

namespace fairlead {

// Binds the pod. `gpus`: on a node with slots, its GPUs, and the pod is asked to run; 0: the kubelet
// chooses.
KubeRequest binding(const Pod& pod, const std::string& node, std::uint64_t gpus);
// Asks for the volume of a claim: gives it a free volume, or selects the node for which one is made.
KubeRequest volume_request(const VolumeRequest& request);
// Writes to a claim of GPUs.
KubeRequest device_request(const DeviceRequest& request);
// Asks the pod to run or to rest in place (pods/slots.h).
KubeRequest turn(const Pod& pod, bool runs);
// Suspends the owner, marked as Fairlead's, or resumes it and removes the mark.
// REQUIRES: owner.kind != nullptr.
KubeRequest suspension(const Owner& owner, bool suspends);
// Marks the pod, before its eviction, as preempted by a scheduler, which does not count as a failure.
KubeRequest preemption_mark(const Pod& pod, std::int64_t unix_ms);
// Sets the pod's condition PodScheduled: it waits, with the reason.
KubeRequest unschedulable(const Pod& pod, const std::string& why, std::int64_t unix_ms);
// Deletes the pod, with its grace period, unless a PodDisruptionBudget forbids it (429).
KubeRequest eviction(const Pod& pod);

}  // namespace fairlead
