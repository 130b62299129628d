#include "fairlead/model/rack_texts.h"

#include "fairlead/model/fabric.h"

#include <algorithm>

namespace fairlead {
namespace {

std::string cards_text(const Cluster& cluster, const Fabric& fabric, HostId host) {
  const std::uint32_t cards = cluster.host_nics[host].count;
  const double gbps = fabric.capacities()[LinkId(host.row())] / cards;
  return cards == 1 ? fmt::format("{:g} Gbit/s", gbps)
                    : fmt::format("{} x {:g} Gbit/s", cards, gbps);
}

// Returns the end of the range of nodes with the same description as its first node.
std::uint32_t end_of_alike(const Cluster& cluster, const Fabric& fabric, NodeRange range) {
  const auto text = [&](std::uint32_t row) {
    const NodeId node(row);
    return fmt::format("{} {} {}", cluster.node_type[node].row(), cluster.node_gpus[node],
                       cards_text(cluster, fabric, cluster.node_host[node]));
  };
  const std::string first = text(range.begin);
  std::uint32_t end = range.begin + 1;
  while (end < range.end && text(end) == first) ++end;
  return end;
}

std::string nodes_text(const Cluster& cluster, const Fabric& fabric, NodeRange range) {
  const NodeId first(range.begin);
  const HostId host = cluster.node_host[first];
  std::string text =
      fmt::format("{} nodes of {} {}, ", range.end - range.begin, cluster.node_gpus[first],
                  cluster.type_names[cluster.node_type[first]]);
  if (cluster.host_gpus[host] > cluster.node_gpus[first]) {
    text += fmt::format("{} GPUs to a domain of {:g} Gbit/s, ", cluster.host_gpus[host],
                        fabric.seen_from(cluster, first).node_gbps);
  }
  return text + cards_text(cluster, fabric, host) + " each";
}

std::string about(const Cluster& cluster, const Fabric& fabric, RackId rack) {
  std::string text;
  NodeRange left = cluster.rack_nodes[rack];
  while (left.begin < left.end) {
    const std::uint32_t end = end_of_alike(cluster, fabric, left);
    text += (text.empty() ? "" : "; ") + nodes_text(cluster, fabric, {left.begin, end});
    left.begin = end;
  }
  const double up = fabric.capacities()[LinkId(cluster.hosts + rack.row())];
  return fmt::format("{}; {:g} Gbit/s up", text, up);
}

bool says_more(const Cluster& cluster) {
  return !cluster.switches.empty() || std::ranges::any_of(cluster.host_nics, [](const Nics& nics) {
    return nics.count > 1 || nics.nic_gbps > 0;
  });
}

}  // namespace

std::vector<RackText> rack_texts(const Cluster& cluster) {
  std::vector<RackText> texts;
  if (!says_more(cluster)) return texts;
  const Fabric fabric(cluster);
  texts.reserve(cluster.rack_nodes.size());
  for (RackId rack : ids<RackId>(cluster.rack_nodes.size())) {
    const std::string& name = cluster.racks[rack].name;
    texts.push_back(
        {name.empty() ? fmt::format("rack {}", rack.row()) : name, about(cluster, fabric, rack)});
  }
  return texts;
}

}  // namespace fairlead
