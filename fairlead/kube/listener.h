// What takes its share of the events of a door that several use.
#pragma once

#include "fairlead/kube/door.h"

namespace fairlead {

class KubeListener {
 public:
  virtual ~KubeListener() = default;
  // True if the event was its own.
  virtual bool handle(const KubeEvent& event) = 0;
  // To be called between waits: it begins what is due.
  virtual void wake() = 0;
};

}  // namespace fairlead
