// Clusters for tests, as text: what load_cluster takes, or racks of the shorthand beside each other,
// "2xV100:4,1xK80:2 | 2xV100:4".
#pragma once

#include "fairlead/base/result.h"
#include "fairlead/model/cluster.h"

#include <string_view>

namespace fairlead {

// Errors: those of load_cluster; a rack that is empty.
Result<Cluster> cluster_of(std::string_view text);

}  // namespace fairlead
