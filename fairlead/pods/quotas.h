// Checks ResourceQuotas: whether the pods of a gang can be created.
//
// The server checks a quota when a pod is created, so a gang that waits suspended learns of it only after it is resumed.
// A quota may apply to pods of some scopes alone: priority classes, and pods with or without a deadline. Quotas with
// other scopes are not checked here.
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
  // Alike pods of a namespace.
  struct Pods {
    const std::string& name_space;
    const std::string& priority_class;  // empty: none
    bool have_deadline = false;         // activeDeadlineSeconds
    const Resources& each;              // requests
    std::uint32_t count = 0;
  };
  // Returns why the pods cannot be created: "ResourceQuota team leaves 0 of requests.nvidia.com/gpu, and 32 are needed";
  // empty: no quota keeps them. O(quotas of the namespace x resources).
  std::string objection(const Pods& pods) const;

 private:
  struct Quota {
    Resources hard;
    Resources used;
    Json scopes;  // a label selector for scopes; null: all pods
  };
  std::map<KubeName, Quota> quotas_;
};

}  // namespace fairlead
