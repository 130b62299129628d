// Kubernetes events about gangs, which `kubectl describe job` shows. An event that is lost is not sent again.
#pragma once

#include "fairlead/kube/door.h"
#include "fairlead/kube/json.h"
#include "fairlead/pods/owner.h"

#include <functional>
#include <string_view>
#include <utility>

namespace fairlead {

class EventRecorder {
 public:
  // `may_write`: false drops events, because another scheduler leads. REQUIRES: the door outlives this.
  EventRecorder(KubeDoor& door, std::function<bool()> may_write)
      : door_(door), may_write_(std::move(may_write)) {}

  // Sends an event about the object, of which apiVersion, kind and metadata are read. Refused, Rejected and
  // NotStopped are warnings.
  void record(const Json& object, std::string_view reason, std::string_view message);
  // The same about the gang's owner, or about one of its pods if it has no owner.
  void record(const Owner& owner, std::string_view reason, std::string_view message);

 private:
  KubeDoor& door_;
  std::function<bool()> may_write_;
};

}  // namespace fairlead
