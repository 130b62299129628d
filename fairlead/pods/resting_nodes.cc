#include "fairlead/pods/resting_nodes.h"

#include <algorithm>

namespace fairlead {

std::vector<std::string> RestingNodes::take_due(Time now) {
  std::vector<std::string> over;
  for (const auto& [node, until] : until_) {
    if (until <= now) over.push_back(node);
  }
  for (const std::string& node : over) until_.erase(node);
  return over;
}

Time RestingNodes::due() const {
  Time first = Time::never();
  for (const auto& [node, until] : until_) first = std::min(first, until);
  return first;
}

}  // namespace fairlead
