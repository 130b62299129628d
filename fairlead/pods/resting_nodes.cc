#include "fairlead/pods/resting_nodes.h"

#include <algorithm>

namespace fairlead {

std::vector<std::string> RestingNodes::take_due(Time now) {
  std::vector<std::string> opened;
  for (auto& [node, jobs] : until_) {
    const auto count = std::erase_if(jobs, [&](const auto& entry) { return entry.second <= now; });
    if (count > 0) opened.push_back(node);
  }
  std::erase_if(until_, [](const auto& entry) { return entry.second.empty(); });
  return opened;
}

std::set<JobId> RestingNodes::jobs(const std::string& node) const {
  std::set<JobId> closed;
  const auto found = until_.find(node);
  if (found == until_.end()) return closed;
  for (const auto& [job, until] : found->second) closed.insert(job);
  return closed;
}

Time RestingNodes::due() const {
  Time first = Time::never();
  for (const auto& [node, jobs] : until_) {
    for (const auto& [job, until] : jobs) first = std::min(first, until);
  }
  return first;
}

}  // namespace fairlead
