// A list of outages, as a table of separated values:
//
//   node,down_s,up_s,gpus
//   n0,3600,7200,
//   n1,100,,0+3
//
// `node` is a node of the cluster by its name, `up_s` empty where it stays down, `gpus` those of its
// GPUs that are gone, counted from 0 (empty, or without that column: all of them). Rows may come in
// any order; one GPU is down only once at a time.
#pragma once

#include "fairlead/base/file.h"
#include "fairlead/base/result.h"
#include "fairlead/model/cluster.h"
#include "fairlead/model/outage.h"

#include <string>
#include <vector>

namespace fairlead {

// In the order of the rows. Errors name line and column: a field that is missing or not what it
// should be, a node that is not there, an outage that ends before it begins, one that overlaps with
// an earlier row. O(rows x outages of the same node).
Result<std::vector<NodeOutage>> read_outages(ByteSource& source, const Cluster& cluster);
Result<std::vector<NodeOutage>> load_outages(const std::string& path, const Cluster& cluster);

}  // namespace fairlead
