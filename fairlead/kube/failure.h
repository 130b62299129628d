// The failure of a call or a stream, in words for people.
#pragma once

#include "fairlead/kube/door.h"

#include <string>

namespace fairlead {

// Returns "403 pods is forbidden: ..." with the server's own message, or the beginning of its answer if it has none, or
// the reason why no answer came.
std::string failure_text(const KubeEvent& event);

}  // namespace fairlead
