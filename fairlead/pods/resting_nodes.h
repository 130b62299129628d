// Nodes whose idle GPUs are unusable for now, because they lack another resource: memory, CPU, ports.
//
// Policies see GPUs only, and would place the gang there again. After a node lacked resources for a gang, it gets
// no further gang for kNodeRest, or until a pod leaves it.
#pragma once

#include "fairlead/base/units.h"

#include <map>
#include <string>
#include <vector>

namespace fairlead {

// The longest rest of a node (chosen).
constexpr Duration kNodeRest = seconds(300);

class RestingNodes {
 public:
  // Starts the node's rest, or starts it again.
  void add(const std::string& node, Time now) { until_[node] = now + kNodeRest; }
  // Ends the node's rest. Returns true if it rested.
  bool remove(const std::string& node) { return until_.erase(node) > 0; }
  // Removes and returns the nodes whose rest has ended.
  std::vector<std::string> take_due(Time now);
  bool contains(const std::string& node) const { return until_.contains(node); }
  // Returns when the next rest ends; Time::never() if no node rests.
  Time due() const;

 private:
  std::map<std::string, Time> until_;  // end of the rest, by name of the node
};

}  // namespace fairlead
