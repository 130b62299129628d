// The cgroups of a node's pods, for an agent that freezes and thaws them.
#pragma once

#include "fairlead/base/result.h"

#include <cstdint>
#include <string>
#include <vector>

namespace fairlead {

enum class PodState : std::uint8_t {
  kNone,      // the pod has no cgroup here
  kThawed,    // its processes run
  kFreezing,  // some of them may still run
  kFrozen,
};

// Pods are identified by their uids in the API server's spelling.
class PodFreezer {
 public:
  virtual ~PodFreezer() = default;

  virtual PodState state(const std::string& uid) = 0;
  // Freezes or thaws. Freezing takes a moment, thawing is done on return. Error: there is no cgroup, or no permission
  // to write to it.
  virtual Status set(const std::string& uid, bool is_frozen) = 0;
  // Returns all pods of the machine that are frozen or freezing, even if the API server does not know them.
  virtual std::vector<std::string> frozen() = 0;
};

}  // namespace fairlead
