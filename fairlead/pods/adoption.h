// Finds the places of gangs that an earlier scheduler placed, when this scheduler starts.
#pragma once

#include "fairlead/model/cluster.h"
#include "fairlead/pods/gang_book.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace fairlead {

struct GangInPlace {
  std::string key;
  std::vector<GangPlace> where;
  std::vector<Slice> slices;         // the same on the engine's cluster, by node
  std::vector<std::uint64_t> masks;  // GPUs of each slice
  bool runs = true;                  // false: it rests there between its turns (slots.h)
};

// Returns the gangs with a node for each pod. A running gang has GPUs of its own; resting gangs come first, and may
// share GPUs. Half of a gang is not in place. `rows`: rows of the cluster, by name of the node. O(gangs x pods).
std::vector<GangInPlace> gangs_in_place(const GangBook& gangs, const Cluster& cluster,
                                        const std::map<std::string, NodeId>& rows);

}  // namespace fairlead
