// Clusters for tests, as text: the input of load_cluster, or racks of the shorthand beside each
// other, "2xV100:4,1xK80:2 | 2xV100:4".
#pragma once

#include "fairlead/base/result.h"
#include "fairlead/model/cluster.h"

#include <string_view>

namespace fairlead {

// Errors: as load_cluster; an empty rack.
Result<Cluster> cluster_of(std::string_view text);

}  // namespace fairlead
