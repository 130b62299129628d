// Label selectors of the API.
#pragma once

#include "fairlead/kube/json.h"

#include <map>
#include <string>

namespace fairlead {

// Returns whether the selector matches. A missing selector matches nothing, an empty one everything.
bool selects(const Json& selector, const std::map<std::string, std::string>& labels);

}  // namespace fairlead
