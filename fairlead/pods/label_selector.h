// Label selectors of the API.
#pragma once

#include "fairlead/kube/json.h"

#include <functional>
#include <map>
#include <string>

namespace fairlead {

using Labels = std::map<std::string, std::string, std::less<>>;

// Returns whether the selector matches. A missing selector matches nothing, an empty one everything.
bool selects(const Json& selector, const Labels& labels);

}  // namespace fairlead
