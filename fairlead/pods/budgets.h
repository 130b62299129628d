// Checks PodDisruptionBudgets: whether all pods of a gang may be stopped.
//
// The server checks them when a pod is evicted, but not when its owner is suspended, and never for a gang
// as a whole. So they are checked here before both.
#pragma once

#include "fairlead/kube/reflector.h"
#include "fairlead/pods/members.h"

#include <map>
#include <memory>
#include <string>

namespace fairlead {

class Budgets {
 public:
  void on(const ReflectedChange& change);
  // Returns why not all of the running pods may stop; empty: they may.
  std::string objection(const std::map<std::string, Pod>& pods) const;

 private:
  std::map<KubeName, std::shared_ptr<const Json>> budgets_;
};

}  // namespace fairlead
