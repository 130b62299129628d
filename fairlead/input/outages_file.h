// A table of outages with separated values:
//
//   node,down_s,up_s,gpus
//   n0,3600,7200,
//   n1,100,,0+3
//
// `node` is the name of a node of the cluster. `up_s` is empty if it stays down. `gpus` are its missing GPUs, counted
// from 0 (empty, or no such column: all). Rows may come in any order; the outages of one GPU may not overlap.
#pragma once

#include "fairlead/base/file.h"
#include "fairlead/base/result.h"
#include "fairlead/model/cluster.h"
#include "fairlead/model/outage.h"

#include <string>
#include <vector>

namespace fairlead {

// Returns the outages in the order of the rows. Errors name line and column: a missing or invalid field, an unknown
// node, an outage that ends before it starts, one that overlaps with an earlier row. O(rows x outages of the same
// node).
Result<std::vector<NodeOutage>> read_outages(ByteSource& source, const Cluster& cluster);
Result<std::vector<NodeOutage>> load_outages(const std::string& path, const Cluster& cluster);

}  // namespace fairlead
