// The values of priority classes: PriorityClass, and Kueue's WorkloadPriorityClass.
#pragma once

#include "fairlead/kube/reflector.h"
#include "fairlead/pods/owner.h"

#include <cstdint>
#include <map>
#include <string>

namespace fairlead {

struct GangPriority {
  std::int64_t value = 0;  // the higher, the sooner
  bool preempts = true;    // not with preemptionPolicy Never
  friend bool operator==(const GangPriority&, const GangPriority&) = default;
};

class PriorityClasses {
 public:
  void on(const OwnerKind& kind, const ReflectedChange& change);
  // Returns the priority that Kueue has resolved, else by the owner's WorkloadPriorityClass if there is one of that name,
  // else by the class of its pods, else by the class that is the default of the cluster. O(log of the classes).
  GangPriority of(const Owner& owner) const;
  // Returns the name of the class that the API server gives to the owner's pods; empty: none. O(default classes).
  std::string class_of_pods(const Owner& owner) const;

 private:
  std::map<std::string, GangPriority> of_pods_;       // by the name of the class
  std::map<std::string, GangPriority> of_workloads_;  // the same
  std::map<std::string, GangPriority> defaults_;      // of of_pods_
};

}  // namespace fairlead
