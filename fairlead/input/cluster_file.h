// Reading clusters: presets, a shorthand, YAML files and published lists of nodes.
//
// Cluster YAML. Every key that is not marked required may be left out; unknown keys are errors.
//
//   name: slides               # else the file's name
//   about: one line            # printed in the preset list
//   links: {pair_gbps: 1200, node_gbps: 100, rack_gbps: 100, spine_gbps: 25,   # Gbit/s, one way
//           latency_us: 0, oversubscription: 4}   # see Links
//   racks:                     # required, unless there are switches
//     - name: left             # else "r" and the rack's number
//       count: 1               # that many such racks; a name gets "-0", "-1", ... if it is above 1
//       uplink_gbps: 400       # default: links; or oversubscription, of this rack's hosts
//       nodes:                 # required: one group of equal hosts, or a list of groups
//         - {count: 6, gpu_type: P100, gpus: 4}                      # 6 hosts of 4 P100
//         - name: lab          # else "n" and the node's number; "-0", "-1", ... as for racks
//           count: 2           # else 1
//           gpus: [{type: V100, count: 2}, {type: K80, count: 2}]    # a mixed host:
//                              # a node per type, named "lab-0/V100", "lab-0/K80"
//         - {count: 18, gpu_type: GB200, gpus: 4, domain: 18,        # 18 hosts joined by NVLink
//            pair_gbps: 7200, node_gbps: 7200, nics: 4, nic_gbps: 400}  # each has 4 network cards
//
// More levels of switches than racks are named, from the racks up, and nested, from the top down:
//
//   levels: [rack, pod, core]
//   switches:                  # instead of racks; keys as of racks
//     - name: core
//       switches: [{name: pod, count: 2, oversubscription: 2, racks: [...]}]
//
// Node lists are CSV files recognised by their header:
//   sn,cpu_milli,memory_mib,gpu,model     Alibaba openb 2023
//   ,machineId,number of GPUs             Philly (ATC'19); the type is unpublished: "GPU"
//   ip,DSW,PSW,ASW                        Alibaba Lingjun (SIGCOMM'24): a host's core, aggregation
//                                         and rack switches: three levels. Names below others
//                                         repeat, so a rack's is all three. The list has no GPUs: each host gets 8 of
//                                         the unpublished type "GPU", as in Alibaba's HPN paper.
// A host that has no GPU is left out.
//
// Shorthand: 12xV100:4,6xP100:4 is 12 nodes of 4 V100 and 6 nodes of 4 P100 in one rack.
#pragma once

#include "fairlead/base/file.h"
#include "fairlead/base/result.h"
#include "fairlead/model/cluster.h"

#include <string>
#include <string_view>
#include <vector>

namespace fairlead {

constexpr std::int64_t kNodesMax = 1'000'000;

// `spec` is the name of a preset, a shorthand or the path of a file, tried in this order.
Result<Cluster> load_cluster(std::string_view spec);

struct ClusterPreset {
  std::string name;
  std::string about;  // one line
};
// By name.
std::vector<ClusterPreset> preset_clusters();

// Parses one of the formats. The file's name, without folder and extension, is the cluster's unless the YAML names it.
Result<Cluster> parse_cluster_yaml(std::string_view text, std::string_view file);
bool is_node_list(std::string_view text);  // begins with a header that is known
Result<Cluster> read_node_list(ByteSource& source);
Result<Cluster> parse_cluster_shorthand(std::string_view spec);
// "lab" for "clusters/lab.yaml" and "clusters/lab.csv.gz".
std::string cluster_name(std::string_view file);

// "41 nodes, 164 GPUs: 12 V100, 24 P100, 128 K80".
std::string describe(const Cluster& cluster);

}  // namespace fairlead
