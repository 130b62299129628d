// The failure of a call or a stream, in words for people.
#pragma once

#include "fairlead/kube/door.h"

#include <string>

namespace fairlead {

// "403 pods is forbidden: ..." by the server's own message, the begin of its answer where that is none,
// or why no answer came.
std::string failure_text(const KubeEvent& event);

}  // namespace fairlead
