// Descriptions of racks for people: the switches above them and the bandwidth of their links.
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

// Returns the texts by RackId. Returns nothing if the cluster has no more than the values of Links: racks without
// names, and hosts with one card each. O(nodes).
std::vector<RackText> rack_texts(const Cluster& cluster);

}  // namespace fairlead
