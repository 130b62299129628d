// Checks ResourceQuotas: whether the pods of a gang can be created.
//
// The server checks a quota when a pod is created, so a gang that waits suspended learns of it only after it is resumed.
// A quota may apply to pods of some priority classes alone. Quotas with other scopes are not checked here.
#pragma once

#include "fairlead/kube/json.h"
#include "fairlead/kube/reflector.h"
#include "fairlead/pods/resources.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <map>
#include <string>

namespace fairlead {

class Quotas {
 public:
  void on(const ReflectedChange& change);
  // Returns why that many pods of the priority class, which request `each`, cannot be created: "ResourceQuota team leaves 0 of
  // requests.nvidia.com/gpu, and 32 are needed"; empty: no quota keeps them. O(quotas of the namespace x resources).
  std::string objection(const std::string& name_space, const std::string& priority_class,
                        const Resources& each, std::uint32_t pods) const;

 private:
  struct Quota {
    Resources hard;
    Resources used;
    Json classes;  // a label selector for the priority class; null: all pods
  };
  std::map<KubeName, Quota> quotas_;
};

}  // namespace fairlead
