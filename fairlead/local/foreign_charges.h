// The GPU time of foreign processes, added up by user until it is charged (serve --foreign charge).
//
// Each look at the driver adds the time since the previous look, for each GPU on which it finds a process of the user.
// So a process may be charged up to one interval of looks too little or too much, and on average neither.
//
// The sums are not kept, so a restart forgives the last one and the time without a daemon. Source: ours.
#pragma once

#include "fairlead/base/ids.h"
#include "fairlead/base/units.h"

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace fairlead {

class ForeignCharges {
 public:
  // By user and node: the GPUs of the node with a process of the user, bit i for GPU i.
  using Found = std::map<std::pair<std::string, NodeId>, std::uint64_t>;
  struct Charge {
    std::string user;
    NodeId node;
    GpuTime attained;
  };
  // Adds the time since the previous look. Returns the sums of a minute, and the sums of users without processes on the node
  // any more; both start again at zero. The first look adds nothing. O(found + sums).
  std::vector<Charge> look(const Found& found, Time now);

 private:
  struct Sum {
    GpuTime attained;
    Time since;
  };
  std::map<std::pair<std::string, NodeId>, Sum> sums_;
  Time looked_at_ = Time::never();
};

}  // namespace fairlead
