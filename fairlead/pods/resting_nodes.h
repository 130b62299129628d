// Nodes on which a gang lacked a resource at its start, although the engine had counted with it.
//
// The node is closed to that gang's job for kNodeRest, or until a pod leaves the node. Others may use it.
#pragma once

#include "fairlead/base/ids.h"
#include "fairlead/base/units.h"

#include <map>
#include <set>
#include <string>
#include <vector>

namespace fairlead {

// The longest time for which a node is closed to a job (chosen).
constexpr Duration kNodeRest = seconds(300);

class RestingNodes {
 public:
  // Closes the node to the job.
  void add(const std::string& node, JobId job, Time now) { until_[node][job] = now + kNodeRest; }
  // Opens the node to all jobs. Returns true if it was closed to one.
  bool remove(const std::string& node) { return until_.erase(node) > 0; }
  // Opens nodes after kNodeRest, and returns them.
  std::vector<std::string> take_due(Time now);
  // Returns the jobs to which the node is closed.
  std::set<JobId> jobs(const std::string& node) const;
  // Returns when the next job may use a node again; Time::never(): all may use all nodes.
  Time due() const;

 private:
  std::map<std::string, std::map<JobId, Time>> until_;  // by name of the node
};

}  // namespace fairlead
