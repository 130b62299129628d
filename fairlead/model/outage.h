// An outage of GPUs of one node.
#pragma once

#include "fairlead/base/ids.h"
#include "fairlead/base/units.h"
#include "fairlead/model/event.h"

#include <cstdint>

namespace fairlead {

struct NodeOutage {
  NodeId node;
  Time down;
  Time up;                        // Time::never(): the GPUs stay down
  std::uint64_t gpus = kAllGpus;  // bit i for GPU i of the node
  friend bool operator==(const NodeOutage&, const NodeOutage&) = default;
};

}  // namespace fairlead
