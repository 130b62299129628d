// The links between the nodes of a cluster: their bandwidth, and the links that a gang crosses.
//
// There are links inside nodes, and one uplink per host (all its network cards together), per rack and per switch above
// racks. A gang on several hosts crosses their uplinks. A gang in several racks also crosses the racks' uplinks, and so
// on for each level at which the gang is below several switches. The gang's bandwidth is the smallest of: the links
// inside its nodes, the cards that its GPUs reach, and the uplinks.
//
// Cards: the GPUs that share a card are neighbours, so a gang of at most that many GPUs has one card. A larger gang has
// a card for each GPU, up to all cards. (Measured on a DGX A100 by Vidur: 47 Gbit/s between hosts with one or two GPUs
// each, 168 with four, 139 with eight.)
//
// A domain (a host of several nodes) counts as one host, because its GPUs reach all its cards.
#pragma once

#include "fairlead/model/cluster.h"

#include <array>
#include <cstdint>
#include <vector>

namespace fairlead {

// The network path of a gang that shares it with no other gang.
struct Route {
  Tier tier = Tier::kPair;
  double gbps = 0;
  std::uint32_t host_gpus =
      1;  // the largest number of its GPUs on one host; all GPUs if it has one host
};

class Fabric {
 public:
  // `congestion` by Tier: divides the links' speed. Keeps no reference to the cluster.
  // REQUIRES: every factor is above 0. O(nodes).
  explicit Fabric(const Cluster& cluster,
                  const std::array<double, kTiers>& congestion = {1, 1, 1, 1});

  // Returns the gang's route. O(slices); above racks O(slices^2 x levels), and allocates. REQUIRES: gang is not empty;
  // the nodes of a host are neighbours, otherwise each group of neighbours counts as a host.
  Route route(const Cluster& cluster, Gang gang) const;
  // Returns the links of gangs that start on this node, by tier, with all cards of their hosts. O(levels).
  Links seen_from(const Cluster& cluster, NodeId node) const;
  // Sets `links` to the gang's links that other gangs can share; empty for a gang within one host.
  // O(slices^2 x levels).
  void cross(const Cluster& cluster, Gang gang, std::vector<LinkId>& links) const;
  // Returns the bandwidth of every shared link, in Gbit/s: uplinks of hosts, of racks, and of switches above racks.
  const IdVector<LinkId, double>& capacities() const { return capacities_; }

 private:
  struct OnHost {
    HostId host;
    std::uint32_t gpus = 0;
  };
  double cards_gbps(const Cluster& cluster, OnHost on) const;
  void add_switches(const Cluster& cluster, const Links& links);
  LinkId rack_link(RackId rack) const { return LinkId(hosts_ + rack.row()); }
  LinkId switch_link(SwitchId at) const { return LinkId(hosts_ + racks_ + at.row()); }

  std::array<double, kTiers> congestion_;
  Links links_;  // after congestion
  std::size_t hosts_ = 0;
  std::size_t racks_ = 0;
  IdVector<LinkId, double> capacities_;
  IdVector<RackId, double> gang_gbps_;  // limit of one gang on a rack's uplink
};

// The links of the first node of each type.
using TypeLinks = IdVector<GpuTypeId, Links>;
// Returns the links of all types. Types without nodes have the cluster's links. O(nodes).
TypeLinks type_links(const Cluster& cluster, const Fabric& fabric);

}  // namespace fairlead
