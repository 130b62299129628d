#include "testing/racks.h"

#include "fairlead/base/parse.h"
#include "fairlead/input/cluster_file.h"
#include "fairlead/model/cluster_build.h"

#include <algorithm>
#include <string>
#include <vector>

namespace fairlead {
Result<Cluster> cluster_of(std::string_view text) {
  if (text.find('|') == text.npos) return load_cluster(text);
  std::vector<NodeSpec> nodes;
  std::size_t racks = 0;
  for (std::string_view rest = text;;) {
    const std::size_t bar = std::min(rest.find('|'), rest.size());
    FL_TRY_ASSIGN(rack, parse_cluster_shorthand(trimmed(rest.substr(0, bar))));
    for (NodeId node : ids<NodeId>(rack.nodes())) {
      nodes.push_back({.name = "",
                       .gpu_type = rack.type_names[rack.node_type[node]],
                       .gpus = rack.node_gpus[node],
                       .host = "",
                       .rack = fmt::format("r{}", racks)});
    }
    ++racks;
    if (bar == rest.size()) break;
    rest.remove_prefix(bar + 1);
  }
  return build_cluster(std::string(text), Links{}, nodes);
}

}  // namespace fairlead
