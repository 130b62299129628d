// Max-min fair sharing of links: the bandwidth of each flow where several cross one link.
//
// Every flow crosses some links and uses at most its demand. The bandwidths are max-min fair: no flow can get more
// without taking from one that has no more than it. They are the result of progressive filling (Bertsekas and Gallager,
// Data Networks, 1992, section 6.5): all flows grow equally until a link is full or a demand is met, which fixes the
// flows concerned, and so on. The bandwidth at which a link is full is its level.
//
// Ours: only changes are computed again. Levels are settled from the lowest up. A link is visited only if flows that
// cross it came, went or changed, and from the lowest level at which that can matter. Below it, and behind links with
// an unchanged level, nothing is touched.
//
// Invariants:
//  1. Bandwidth is a whole number of units, about 2^-61 of the largest link; a full link's share is
//     rounded down. All sums are exact.
//  2. Hence, after update(), bandwidths depend on the present flows alone, not on the order in
//     which they came, to the last bit.
//
// add, remove: O(links of the flow + flows on them). update: O(flows on the visited links + links
// of the flows that change), times the few passes that a level takes, + log links for each. No
// allocation once warm.
#pragma once

#include "fairlead/base/ids.h"
#include "fairlead/base/indexed_heap.h"
#include "fairlead/base/units.h"

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace fairlead {

using FlowId = Id<struct FlowTag>;

class LinkSharing {
 public:
  // By LinkId, in any one unit of bandwidth, above 0. `contenders`: a change of how many flows a
  // flow meets counts as a change of the flow.
  explicit LinkSharing(const IdVector<LinkId, double>& capacities, bool contenders = false);

  // A new flow; rows of removed flows are used again. REQUIRES: links are distinct and not none,
  // demand > 0.
  FlowId add(std::span<const LinkId> links, double demand);
  // REQUIRES: `flow` is present.
  void remove(FlowId flow);
  // Recomputes the effects of add() and remove() since the last update. Returns the flows that changed, new ones
  // included, in no useful order; valid until the next call.
  std::span<const FlowId> update();
  // No flow came or went since.
  bool is_settled() const { return touched_.empty(); }

  // As of the last update.
  double bandwidth(FlowId flow) const;
  // Returns how many flows, itself included, are on the busiest of its links now.
  std::size_t contenders(FlowId flow) const;

  // Returns how often a link was visited so far: the cost of all updates.
  std::int64_t link_updates() const { return link_updates_; }

 private:
  using Units = std::int64_t;
  static constexpr Units kUnlimited = std::numeric_limits<Units>::max();

  struct Flow {
    std::vector<LinkId> links;
    double demand = 0;
    Units demand_units = 0;
    Units before = 0;  // the bandwidth at the last update
    bool present = false;
    bool edited = false;  // is in edited_
  };
  struct Link {
    Units capacity = 0;
    Units level =
        kUnlimited;   // the bandwidth of the flows that it limits; unlimited: it is not full
    Int128 load = 0;  // the sum of its flows' bandwidths
    std::vector<FlowId> flows;
    bool touched = false;   // is in touched_
    bool requeued = false;  // is in requeued_
  };

  void touch(LinkId link);
  void set_bandwidth(FlowId flow, Units units);
  static bool has_room(const Link& link);
  Units share_at(const Link& link, Units level);
  Units level_from(const Link& link, Units level);
  void queue(LinkId link, Units from);
  void requeue(LinkId link);
  void settle_level();
  void limit_flows(const Link& link, Units level);
  bool is_limited(FlowId flow, Units level) const;
  void release_flows(Link& link, Units level);
  void collect_changes();

  const bool contenders_;
  double units_ = 1;  // in one of the caller's
  IdVector<LinkId, Link> links_;
  IdVector<FlowId, Flow> flows_;
  // During an update, the bandwidth of a flow as far as known. It is final below the level that is settled next. Above,
  // it is the previous bandwidth, or more if a link released the flow.
  IdVector<FlowId, Units> bandwidth_;
  std::vector<FlowId> unused_;
  std::vector<LinkId> touched_;
  std::vector<FlowId> edited_;
  // Links whose level may change, by the lowest bandwidth at which it can.
  IndexedHeap<Units, LinkId> queue_;
  std::vector<LinkId> released_;
  std::vector<FlowId> growing_;
  std::vector<LinkId> requeued_;
  std::vector<FlowId> changed_;
  std::int64_t link_updates_ = 0;
};

}  // namespace fairlead
