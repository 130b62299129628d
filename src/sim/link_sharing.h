// Max-min fair sharing of links: who gets how much bandwidth where several flows cross one link.
//
// Every flow crosses some links and wants at most its demand. The bandwidths are max-min fair: no
// flow can get more without taking from one that has no more than it. They are found by progressive
// filling (Bertsekas and Gallager, Data Networks, 1992, section 6.5): all flows grow alike until a
// link is full or a demand is met, which fixes the flows concerned, and so on.
//
// Flows that share no link, not even through others, do not matter to each other: only the parts of
// the cluster that are connected to what changed are filled anew.
//
// Invariant: after update(), bandwidths depend on the present flows alone, not on the order in
// which they came. No randomness, no rounding beyond double precision.
//
// add, remove: O(links of the flow + flows on them). update: O(rounds x links + flows x (their
// links + log flows)) of what is connected to changes, with a round for each different bandwidth
// that comes out. No allocation once warm.
#pragma once

#include "base/ids.h"

#include <cstdint>
#include <span>
#include <vector>

namespace fairlead {

using LinkId = Id<struct LinkTag>;
using FlowId = Id<struct FlowTag>;

class LinkSharing {
 public:
  // By LinkId, in any one unit of bandwidth, above 0.
  explicit LinkSharing(IdVector<LinkId, double> capacities);

  // A new flow; rows of removed flows are used again. REQUIRES: links are distinct and not none,
  // demand > 0.
  FlowId add(std::span<const LinkId> links, double demand);
  // REQUIRES: `flow` is present.
  void remove(FlowId flow);
  // Fills anew what add() and remove() touched since the last update. Returns the flows whose
  // bandwidth or contenders changed, new ones included, in no useful order; valid until the next.
  std::span<const FlowId> update();

  // As of the last update.
  double bandwidth(FlowId flow) const { return flows_[flow].bandwidth; }
  // How many flows, itself included, are on the busiest of its links.
  std::uint32_t contenders(FlowId flow) const { return flows_[flow].contenders; }

 private:
  struct Flow {
    std::vector<LinkId> links;
    double demand = 0;
    double bandwidth = 0;
    std::uint32_t contenders = 0;
    bool present = false;
    bool reached = false;  // by the present update
    bool fixed = false;
  };
  struct Link {
    double capacity = 0;
    std::vector<FlowId> flows;
    double left = 0;            // of capacity, beside the flows that are fixed
    std::uint32_t growing = 0;  // flows that are not fixed
    bool touched = false;       // is in touched_
    bool reached = false;       // by the present update
  };

  void touch(LinkId link);
  void reach();
  void fill();
  double next_level(std::size_t first_growing) const;
  void fix(FlowId flow, double level);  // once per update

  IdVector<LinkId, Link> links_;
  IdVector<FlowId, Flow> flows_;
  std::vector<FlowId> unused_;
  std::vector<LinkId> touched_;
  // What the present update fills, and what came out different.
  std::vector<LinkId> reached_links_;
  std::vector<FlowId> reached_flows_;
  std::vector<LinkId> full_;
  std::vector<FlowId> changed_;
};

}  // namespace fairlead
