// HadarGangs: the gangs that a job could have in a round, Hadar's FIND_ALLOC (IPDPS 2024; its
// structure is reconstructed).
//
//   present  the gang it has now, which saves a switch
//   node     per GPU type, the tightest node with room; of equally tight ones the node with the
//            GPUs that are worth least to their present jobs, so that few jobs move
//   host     a mix of types within one host, the fastest types first
//   spread   per GPU type without such a node, several nodes, as few as possible: in the tightest
//            rack with room, else in all racks below one switch, else anywhere. Never of a wider
//            level than the job requires, nor of a narrower one than it prefers if there is room
//   mix      several nodes of several types: the types with the fastest slowest one, the cheapest
//            first
//
// A gang has whole tasks of the job on each node.
//
// A bid has the worth of each GPU type to the job at each tier. A gang of several types has the
// least of these worths, because its slowest member sets the pace. So the worths include the
// costs of communication and of a switch, and no gang needs to be timed here.
//
// ask: O(types log types). find_on: O(nodes / 64) for a gang on one node, O(nodes x slices of the gang) for one on
// several. find_mixes: the same over all types, and O(types) if none is due. No allocation once warm.
#pragma once

#include "fairlead/model/levels.h"
#include "fairlead/policy/hadar/parts.h"
#include "fairlead/policy/hadar/prices.h"

#include <optional>
#include <span>
#include <vector>

namespace fairlead {

// The demand of a job, and its worth of gangs.
struct HadarBid {
  JobId job;
  std::uint32_t gpus = 0;
  std::uint32_t task_gpus = 1;  // divides gpus
  Closeness closeness{};
  Gang present;                                  // its present gang, or the GPUs with its memory;
                                                 // empty if there are none
  std::span<const std::uint64_t> present_masks;  // the GPUs that it needs there; empty: any
  double present_worth = 0;                      // worth of that gang
  std::span<const double> worth;  // worth of a new gang, by GPU type and tier; 0: cannot run there
  bool is_forked = false;         // there may be bids for other copies of the job

  double worth_on(GpuTypeId type, Tier tier) const {
    return worth[type.row() * kTiers + static_cast<std::size_t>(tier)];
  }
  // Returns the GPUs of the smallest gang that it would take. O(slices).
  std::uint32_t least_gpus() const {
    return present.empty() ? gpus : std::min(gpus, gpus_of(present));
  }
  // Returns the most it pays for a whole gang of that type. O(1).
  double best_on(GpuTypeId type) const;
  // Returns the most it pays for any gang, its own included. O(types).
  double best() const;
};

struct HadarGang {
  double worth = 0;
  double payoff = 0;  // worth less the price of the GPUs
  std::uint32_t first = 0;
  std::uint32_t slices = 0;
};

class HadarGangs {
 public:
  // `mixed`: gangs may have several types; else only gangs larger than every type. The cluster must
  // outlive it, with the nodes that it has now.
  HadarGangs(const Cluster& cluster, bool mixed);

  // Starts a round with these bids, for the worth of their present gangs. O(nodes + bids and their
  // slices), and O(nodes log nodes) if a bid of this round or the last is of a job with a gang.
  void begin(std::span<const HadarBid> bids);
  // The nodes of the round, in order of rising present worth.
  const HadarOrder& order() const { return order_; }
  // Sets the bid of the next finds, which it must outlive.
  void ask(const HadarBid& bid);
  // The number of calls of ask().
  std::uint64_t asked() const { return asked_; }
  // The types on which the bid can run, in order of falling worth.
  std::span<const GpuTypeId> types() const { return types_; }

  // Returns false if no draft has a mix for the bid.
  bool may_mix() const { return types_.size() > 1 || !hosts_.empty(); }

  // Return the gangs that `rest` has for the bid, at most one for its present gang and one on each type. They and
  // their slices are valid until the next call. REQUIRES: the nodes of `rest` are in order().
  std::span<const HadarGang> find_present(HadarRest rest);
  std::span<const HadarGang> find_on(HadarRest rest, GpuTypeId type);
  std::span<const HadarGang> find_mixes(HadarRest rest);
  // Returns all of them, in this order.
  std::span<const HadarGang> find(HadarRest rest);
  Gang slices(const HadarGang& gang) const { return {slices_.data() + gang.first, gang.slices}; }

 private:
  struct Ask {
    const HadarGangs& gangs;
    HadarRest rest;
    const HadarBid& bid;
    HadarPart& part(GpuTypeId type) const { return *rest[type.row()]; }
    const HadarPart& part(NodeId node) const { return part(gangs.cluster_.node_type[node]); }
    std::uint32_t on(NodeId node) const { return part(node).on[gangs.order_.place[node]]; }
    // Returns the node's free GPUs that the job's tasks can use.
    std::uint32_t usable(NodeId node) const;
    // The same of all nodes of the type. O(1), except O(nodes) for the first draft with that part.
    std::uint32_t room(GpuTypeId type) const;
    // True if the tasks of the job are limited on some node.
    bool is_limited() const { return rest.front()->room.limits(bid.job); }
  };
  Ask begin_find(HadarRest rest);
  void offer_present(const Ask& ask);
  void offer_on(const Ask& ask, GpuTypeId type);
  void offer_mixes(const Ask& ask);
  bool has_room_on_best(const Ask& ask) const;
  bool must_mix(const Ask& ask) const;
  bool must_mix_limited(const Ask& ask) const;
  // Returns the tightest section of the narrowest level that has enough of the types; none if no
  // allowed section has.
  std::optional<NodeRange> narrowest(const Ask& ask, TypeMask types) const;
  NodeId tightest(const Ask& ask, GpuTypeId type) const;          // none: no node has room
  NodeId tightest_limited(const Ask& ask, GpuTypeId type) const;  // O(nodes)
  void offer_host_mix(const Ask& ask);
  void offer_spread_mix(const Ask& ask);
  // Takes up to `gpus` GPUs of the type, on few nodes; returns the number still missing.
  std::uint32_t gather(const Ask& ask, GpuTypeId type, NodeRange range, std::uint32_t gpus);
  void gather_host(const Ask& ask, std::span<const NodeId> host);
  // Makes a gang of the slices added since `first`.
  void close(const Ask& ask, std::size_t first);

  const Cluster& cluster_;
  const bool mixed_;
  std::uint32_t type_gpus_max_ = 0;
  std::vector<std::vector<NodeId>> hosts_;  // those with several nodes
  HadarOrder order_;                        // nodes by rising present worth
  const HadarBid* bid_ = nullptr;           // the present bid
  std::uint64_t asked_ = 0;
  std::vector<GpuTypeId> types_;            // types that it can run on, in order of falling worth
  std::vector<GpuTypeId> free_types_;       // the available ones among them
  IdVector<NodeId, double> present_worth_;  // worth to bidders of their gangs on the node
  bool is_by_row_ = true;                   // the nodes are in the order of their rows
  std::vector<HadarGang> found_;
  std::vector<Slice> slices_;
};

}  // namespace fairlead
