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
// ask: O(types log types). find, per wanted type: O(nodes / 64) for a gang on one node; O(nodes x slices of the
// gang) for one on several, and for mixes over all types. No allocation once warm.
#pragma once

#include "fairlead/model/free_index.h"
#include "fairlead/model/levels.h"
#include "fairlead/policy/hadar/prices.h"

#include <array>
#include <optional>
#include <span>
#include <vector>

namespace fairlead {

// The nodes of each type in the order in which equally tight ones are taken.
struct HadarOrder {
  IdVector<GpuTypeId, std::vector<NodeId>> nodes;
  IdVector<NodeId, std::uint32_t> place;  // row of the node in `nodes`
};

// GPUs that a draft of a round has not given out.
struct HadarFree {
  IdVector<NodeId, std::uint16_t> on;
  // Sums of `on`: the GPUs of a type, and the number of its nodes by free GPUs.
  IdVector<GpuTypeId, std::uint32_t> of_type;
  IdVector<GpuTypeId, std::array<std::uint32_t, kNodeGpusMax + 1>> nodes_with{};
  // Masks of the GPUs that residents keep; empty if any GPUs of a node will do.
  IdVector<NodeId, std::uint64_t> kept{};
  TaskRoom room{};  // for tasks, by resources other than GPUs; take() and give() leave it as it is

  // Makes the sums. O(nodes).
  void sum(const Cluster& cluster);
  // Makes first_with() ready. The order must outlive this object and its copies, and stay as it is.
  // O(nodes x GPUs of a node / 64).
  void index(const Cluster& cluster, const HadarOrder& order);
  // Returns the first node of the type in the order with that many GPUs free. O(nodes / 64).
  // REQUIRES: index() was called, and there is such a node.
  NodeId first_with(GpuTypeId type, std::size_t gpus) const;
  // O(slices).
  void take(const Cluster& cluster, Gang gang);
  void give(const Cluster& cluster, Gang gang);
  // Returns true if the gang is free; if masks are given, one for each slice, those very GPUs.
  bool has(Gang gang, std::span<const std::uint64_t> gpu_masks = {}) const;
  void keep(Gang gang, std::span<const std::uint64_t> gpu_masks);
  // Returns the free GPUs of the node that tasks of the job can use.
  std::uint32_t usable(JobId job, std::uint32_t task_gpus, NodeId node) const;

 private:
  void set(const Cluster& cluster, NodeId node, std::uint32_t gpus);
  std::uint64_t& word(GpuTypeId type, std::size_t gpus, std::uint32_t place);

  const HadarOrder* order_ = nullptr;
  // Bits of the nodes of a type by place, by free GPUs: row `gpus` of a type has words_of(type) words from
  // first_word_[type] + gpus * words_of(type) on.
  std::vector<std::uint64_t> words_;
  IdVector<GpuTypeId, std::size_t> first_word_;
};

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
  // The gangs to find besides mixes: gangs of one type, by type, and the present one.
  struct Wanted {
    TypeMask types = kAllTypes;
    bool present = true;
  };
  // Returns the gangs that `free` has for the bid. They and their slices are valid until the next
  // find. REQUIRES: `free` is indexed by order().
  std::span<const HadarGang> find(const HadarFree& free, const HadarPrices& prices) {
    return find(free, prices, Wanted());
  }
  std::span<const HadarGang> find(const HadarFree& free, const HadarPrices& prices, Wanted wanted);
  Gang slices(const HadarGang& gang) const { return {slices_.data() + gang.first, gang.slices}; }

 private:
  struct Ask {
    const HadarFree& free;
    const HadarBid& bid;
    const HadarPrices& prices;
    // Returns the node's free GPUs that the job's tasks can use.
    std::uint32_t usable(NodeId node) const { return free.usable(bid.job, bid.task_gpus, node); }
  };
  bool must_mix(const Ask& ask) const;
  bool must_mix_limited(const Ask& ask) const;
  std::uint32_t room(const Ask& ask, GpuTypeId type) const;
  // Returns the tightest section of the narrowest level that has enough of the types; none if no
  // allowed section has.
  std::optional<NodeRange> narrowest(const Ask& ask, TypeMask types) const;
  void offer_nodes(const Ask& ask, TypeMask wanted);
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
  std::vector<GpuTypeId> types_;            // types that it can run on, in order of falling worth
  std::vector<GpuTypeId> free_types_;       // the available ones among them
  IdVector<NodeId, double> present_worth_;  // worth to bidders of their gangs on the node
  bool is_by_row_ = true;                   // the nodes are in the order of their rows
  std::vector<HadarGang> found_;
  std::vector<Slice> slices_;
};

}  // namespace fairlead
