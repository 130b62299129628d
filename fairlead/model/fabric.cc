#include "fairlead/model/fabric.h"

#include "fairlead/model/communication.h"

#include <algorithm>

namespace fairlead {
namespace {

constexpr std::size_t index_of(Tier tier) { return static_cast<std::size_t>(tier); }

double given_or(double given, double factor, double otherwise) {
  return given > 0 ? given / factor : otherwise;
}

void add_once(std::vector<LinkId>& links, LinkId link) {
  if (std::ranges::find(links, link) == links.end()) links.push_back(link);
}

// Returns the bandwidth of a switch if the units below it have `below`; `otherwise` if its input has no value.
double uplink_gbps(const Uplink& uplink, double factor, double below, double otherwise) {
  if (uplink.gbps > 0) return uplink.gbps / factor;
  return uplink.oversubscription > 0 ? below / uplink.oversubscription : otherwise;
}

}  // namespace

Fabric::Fabric(const Cluster& cluster, const std::array<double, kTiers>& congestion)
    : congestion_(congestion),
      links_(congested(cluster.links, congestion)),
      hosts_(cluster.hosts),
      racks_(cluster.rack_nodes.size()) {
  for (HostId host : ids<HostId>(hosts_)) {
    const Nics& nics = cluster.host_nics[host];
    const double nic_gbps =
        given_or(nics.nic_gbps, congestion_[index_of(Tier::kRack)], links_.rack_gbps);
    capacities_.push_back(nics.count * nic_gbps);
  }
  add_switches(cluster, links_);
}

void Fabric::add_switches(const Cluster& cluster, const Links& links) {
  const double factor = congestion_[index_of(Tier::kSpine)];
  IdVector<RackId, double> below(racks_, 0);
  IdVector<HostId, bool> counted(hosts_, false);
  for (NodeId node : ids<NodeId>(cluster.nodes())) {
    const HostId host = cluster.node_host[node];
    if (counted[host]) continue;
    counted[host] = true;
    below[cluster.node_rack[node]] += capacities_[LinkId(host.row())];
  }
  IdVector<SwitchId, double> above(cluster.switches.size(), 0);
  for (RackId rack : ids<RackId>(racks_)) {
    const Switch& row = cluster.racks[rack];
    const bool is_own = row.uplink.gbps > 0 || row.uplink.oversubscription > 0;
    const double by_links =
        links.oversubscription ? below[rack] / *links.oversubscription : links.spine_gbps;
    const double gbps = uplink_gbps(row.uplink, factor, below[rack], by_links);
    capacities_.push_back(gbps);
    gang_gbps_.push_back(is_own ? gbps : std::min(gbps, links.spine_gbps));
    if (!row.parent.is_none()) above[row.parent] += gbps;
  }
  // Parents are listed before their children.
  IdVector<SwitchId, double> gbps(cluster.switches.size(), 0);
  for (std::size_t i = cluster.switches.size(); i-- > 0;) {
    const Switch& row = cluster.switches[SwitchId(i)];
    gbps[SwitchId(i)] = uplink_gbps(row.uplink, factor, above[SwitchId(i)], above[SwitchId(i)]);
    if (!row.parent.is_none()) above[row.parent] += gbps[SwitchId(i)];
  }
  for (double each : gbps) capacities_.push_back(each);
}

double Fabric::cards_gbps(const Cluster& cluster, OnHost on) const {
  const std::uint32_t cards = cluster.host_nics[on.host].count;
  const std::uint32_t share_one = (cluster.host_gpus[on.host] + cards - 1) / cards;
  const std::uint32_t reached = on.gpus <= share_one ? 1 : std::min(cards, on.gpus);
  return capacities_[LinkId(on.host.row())] / cards * reached;
}

Route Fabric::route(const Cluster& cluster, Gang gang) const {
  Route route{.tier = cluster.tier_of(gang), .gbps = 0, .host_gpus = gpus_of(gang)};
  const NodeLinks& first = cluster.node_links[gang[0].node];
  if (route.tier == Tier::kPair) {
    route.gbps = given_or(first.pair_gbps, congestion_[index_of(Tier::kPair)], links_.pair_gbps);
    return route;
  }
  const double factor = congestion_[index_of(Tier::kNode)];
  route.gbps = given_or(first.node_gbps, factor, links_.node_gbps);
  for (Slice slice : gang) {
    const double inside = cluster.node_links[slice.node].node_gbps;
    route.gbps = std::min(route.gbps, given_or(inside, factor, links_.node_gbps));
  }
  if (route.tier == Tier::kNode) return route;
  route.host_gpus = 0;
  for (std::size_t i = 0; i < gang.size();) {
    OnHost on{cluster.node_host[gang[i].node], 0};
    for (; i < gang.size() && cluster.node_host[gang[i].node] == on.host; ++i) {
      on.gpus += gang[i].gpus;
    }
    route.host_gpus = std::max(route.host_gpus, on.gpus);
    route.gbps = std::min(route.gbps, cards_gbps(cluster, on));
  }
  if (route.tier == Tier::kRack) return route;
  for (Slice slice : gang) {
    route.gbps = std::min(route.gbps, gang_gbps_[cluster.node_rack[slice.node]]);
  }
  if (cluster.switches.empty()) return route;
  std::vector<LinkId> crossed;
  cross(cluster, gang, crossed);
  for (LinkId link : crossed) {
    if (link.row() >= hosts_ + racks_) route.gbps = std::min(route.gbps, capacities_[link]);
  }
  return route;
}

Links Fabric::seen_from(const Cluster& cluster, NodeId node) const {
  Links links = links_;
  const NodeLinks& own = cluster.node_links[node];
  links.pair_gbps = given_or(own.pair_gbps, congestion_[index_of(Tier::kPair)], links.pair_gbps);
  links.node_gbps = given_or(own.node_gbps, congestion_[index_of(Tier::kNode)], links.node_gbps);
  links.rack_gbps = capacities_[LinkId(cluster.node_host[node].row())];
  links.spine_gbps = gang_gbps_[cluster.node_rack[node]];
  for (SwitchId at = cluster.racks[cluster.node_rack[node]].parent; !at.is_none();
       at = cluster.switches[at].parent) {
    links.spine_gbps = std::min(links.spine_gbps, capacities_[switch_link(at)]);
  }
  return links;
}

void Fabric::cross(const Cluster& cluster, Gang gang, std::vector<LinkId>& links) const {
  links.clear();
  const Tier tier = cluster.tier_of(gang);
  if (tier < Tier::kRack) return;
  for (Slice slice : gang) {
    add_once(links, LinkId(cluster.node_host[slice.node].row()));
    if (tier == Tier::kSpine) add_once(links, rack_link(cluster.node_rack[slice.node]));
  }
  if (tier < Tier::kSpine) return;
  std::vector<SwitchId> at;
  at.reserve(gang.size());
  for (Slice slice : gang) at.push_back(cluster.racks[cluster.node_rack[slice.node]].parent);
  const auto is_first = [&](SwitchId other) { return other == at[0]; };
  while (!at[0].is_none() && !std::ranges::all_of(at, is_first)) {
    for (SwitchId& each : at) {
      add_once(links, switch_link(each));
      each = cluster.switches[each].parent;
    }
  }
}

TypeLinks type_links(const Cluster& cluster, const Fabric& fabric) {
  TypeLinks links(cluster.type_names.size(), cluster.links);
  for (std::size_t node = cluster.nodes(); node-- > 0;) {
    links[cluster.node_type[NodeId(node)]] = fabric.seen_from(cluster, NodeId(node));
  }
  return links;
}

}  // namespace fairlead
