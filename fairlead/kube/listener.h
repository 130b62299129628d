// One of several users of a door, which receives its share of the events.
#pragma once

#include "fairlead/kube/door.h"

namespace fairlead {

class KubeListener {
 public:
  virtual ~KubeListener() = default;
  // Returns true if the event was its own.
  virtual bool handle(const KubeEvent& event) = 0;
  // Starts the due calls. Called between waits.
  virtual void wake() = 0;
};

}  // namespace fairlead
