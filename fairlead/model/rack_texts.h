// Racks as people read of them: which switches they are below, and what their links carry.
#pragma once

#include "fairlead/model/cluster.h"

#include <string>
#include <vector>

namespace fairlead {

struct RackText {
  std::string name;   // "core/pod-0/segment-1"
  std::string about;  // "4 nodes of 8 K80, 10 Gbit/s each; 50 Gbit/s up"
  friend bool operator==(const RackText&, const RackText&) = default;
};

// By RackId. Empty where the cluster has nothing but what Links says: racks without names, and hosts
// of one card each. O(nodes).
std::vector<RackText> rack_texts(const Cluster& cluster);

}  // namespace fairlead
