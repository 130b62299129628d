// The real cgroups of pods, as kubelets make them: v2 (cgroup.freeze) or v1 (the freezer's hierarchy),
// by the systemd driver ("kubepods-burstable-pod1234_5678.slice") or cgroupfs ("burstable/pod1234-5678").
#pragma once

#include "fairlead/agent/pod_freezer.h"

#include <map>
#include <string>

namespace fairlead {

// Returns the uid of the pod whose cgroup has that name; empty: not a pod's.
std::string pod_of_cgroup(std::string_view name);

class CgroupFreezer : public PodFreezer {
 public:
  // `root`: the mount point of cgroups, for example "/sys/fs/cgroup". Pods are found below folders with names like
  // "kubepods" or "kubelet", there and in the hierarchies `freezer` and `unified`.
  explicit CgroupFreezer(std::string root) : root_(std::move(root)) {}

  PodState state(const std::string& uid) override;
  Status set(const std::string& uid, bool is_frozen) override;
  std::vector<std::string> frozen() override;

 private:
  // Returns the pod's folder; empty: there is none. Walks the folders if it is not known yet.
  std::string folder(const std::string& uid);
  void find_all();

  std::string root_;
  std::map<std::string, std::string> folders_;  // by uid
};

}  // namespace fairlead
