// PodDisruptionBudgets: whether the pods of a gang may all be stopped.
//
// The server checks them where a pod is evicted. It does not where its owner is suspended, nor does
// it look at a gang as a whole; so both are asked here first.
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
  // Why not all of the pods that run may stop; empty: they may.
  std::string objection(const std::map<std::string, Pod>& pods) const;

 private:
  std::map<KubeName, std::shared_ptr<const Json>> budgets_;
};

}  // namespace fairlead
