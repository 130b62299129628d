// The links between the nodes of a cluster: which of them a gang crosses, and what they carry.
//
// Links are those inside nodes, each host's uplink (all its network cards together), each rack's and
// that of each switch above. A gang on several hosts crosses their uplinks; one in several racks also
// the racks'; and so on up, as long as it is below several switches of a level. What it can have at
// most is the least of: the links inside its nodes, the cards that its GPUs reach, and the uplinks.
//
// Cards: the GPUs of a host that share a card sit together, so a gang of no more GPUs than share one
// has that card. A larger one has a card for each GPU, up to all of them (measured on a DGX A100 by
// Vidur: 47 Gbit/s between hosts with one or two GPUs each, 168 with four, 139 with eight).
//
// A domain (a host of several nodes) counts as one host, as its GPUs reach the cards of all of it.
#pragma once

#include "fairlead/model/cluster.h"

#include <array>
#include <cstdint>
#include <vector>

namespace fairlead {

// What a gang has of the network by itself.
struct Route {
  Tier tier = Tier::kPair;
  double gbps = 0;
  std::uint32_t host_gpus = 1;  // the most of its GPUs that share a host; all within one
};

class Fabric {
 public:
  // `congestion` by Tier: divides the links' speed. The cluster is not referred to later.
  // REQUIRES: every factor is above 0. O(nodes).
  explicit Fabric(const Cluster& cluster,
                  const std::array<double, kTiers>& congestion = {1, 1, 1, 1});

  // O(slices); above racks O(slices^2 x levels), and allocates. REQUIRES: gang is not empty; the nodes
  // of a host are neighbours, else each run of them counts as a host.
  Route route(const Cluster& cluster, Gang gang) const;
  // What gangs that begin on this node have at each tier, with all of their hosts' cards. O(levels).
  Links seen_from(const Cluster& cluster, NodeId node) const;
  // Replaces `links` by those that the gang shares with others: none within one host.
  // O(slices^2 x levels).
  void cross(const Cluster& cluster, Gang gang, std::vector<LinkId>& links) const;
  // Of every link that gangs share: the hosts', the racks', and those of the switches above. Gbit/s.
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
  IdVector<RackId, double> gang_gbps_;  // what one gang may have of a rack's uplink
};

}  // namespace fairlead
