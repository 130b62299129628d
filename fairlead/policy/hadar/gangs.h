// HadarGangs: the gangs that a job could have in a round, Hadar's FIND_ALLOC (IPDPS 2024; its
// structure is reconstructed).
//
//   held     the gang it has now, which saves a switch
//   node     per GPU type, the tightest node with room; of equally tight ones that whose GPUs are
//            worth least to those who hold them, so that few jobs move
//   host     a mix of types within one host, the fastest types first
//   spread   per GPU type without such a node, several nodes, as few as there can be: of the tightest
//            rack with room, else of all racks below one switch, else of all; and of no wider level
//            than the job requires, nor a narrower one than it prefers if there is room
//   mix      several nodes of several types: the types whose slowest is fastest, the cheapest first
//
// Of each node a gang has whole tasks of the job.
//
// A job says what each GPU type is worth to it at each tier; a gang of several types is worth the
// least of them, as its slowest member sets the pace. So the cost of communication and of a switch
// is in the worths, and no gang needs to be timed here.
//
// ask: O(types log types). find: O(nodes of wanted types x slices of the largest gang), of all types for
// mixes. No allocation once warm.
#pragma once

#include "fairlead/model/levels.h"
#include "fairlead/policy/hadar/prices.h"

#include <array>
#include <optional>
#include <span>
#include <vector>

namespace fairlead {

// GPUs that a draft of a round has not given out.
struct HadarFree {
  IdVector<NodeId, std::uint16_t> on;
  // Sums of that: GPUs of a type, and of its nodes how many have so many free.
  IdVector<GpuTypeId, std::uint32_t> of_type;
  IdVector<GpuTypeId, std::array<std::uint32_t, kNodeGpusMax + 1>> nodes_with{};
  // Masks of the GPUs that residents keep; empty where any GPU of a node will do.
  IdVector<NodeId, std::uint64_t> kept{};

  // Makes the sums. O(nodes).
  void sum(const Cluster& cluster);
  void take(const Cluster& cluster, Gang gang);
  void give(const Cluster& cluster, Gang gang);
  // Whether it has the gang, and those very GPUs where masks are given, one for each slice.
  bool has(Gang gang, std::span<const std::uint64_t> gpu_masks = {}) const;
  void keep(Gang gang, std::span<const std::uint64_t> gpu_masks);
};

// What a job asks for, and what it would pay.
struct HadarBid {
  JobId job;
  std::uint32_t gpus = 0;
  std::uint32_t task_gpus = 1;  // divides gpus
  Closeness closeness{};
  Gang held;                                  // or its memory is there; empty if it is nowhere
  std::span<const std::uint64_t> held_masks;  // the GPUs that it is to have there; empty: any
  double held_worth = 0;                      // of that gang
  std::span<const double> worth;  // of a new gang, by GPU type and tier; 0: it cannot run there
  bool is_forked = false;         // there may be bids for other copies of the job

  double worth_on(GpuTypeId type, Tier tier) const {
    return worth[type.row() * kTiers + static_cast<std::size_t>(tier)];
  }
  // Of the smallest gang that it would have. O(slices).
  std::uint32_t least_gpus() const { return held.empty() ? gpus : std::min(gpus, gpus_of(held)); }
  // The most it pays for a whole gang of that type. O(1).
  double best_on(GpuTypeId type) const;
  // The most it pays for any gang, its own included. O(types).
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
  // outlive it.
  HadarGangs(const Cluster& cluster, bool mixed);

  // Those who bid in the round, for what they hold. O(nodes + bids and their slices), and
  // O(nodes log nodes) if a bid of this round or the last is of a job that holds a gang.
  void begin(std::span<const HadarBid> bids);
  // Whom the next finds are for. The bid must outlive them.
  void ask(const HadarBid& bid);
  // Which gangs to find beside mixes: those of one type, by type, and the one it has.
  struct Wanted {
    TypeMask types = kAllTypes;
    bool held = true;
  };
  // The gangs that `free` has for the bid. They and their slices are valid until the next find.
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
    // What the job's tasks can use of the node's free GPUs.
    std::uint32_t usable(NodeId node) const { return whole_tasks(free.on[node], bid.task_gpus); }
  };
  bool must_mix(const HadarBid& bid) const;
  std::uint32_t room(const Ask& ask, GpuTypeId type) const;
  // The tightest section of the narrowest level that has enough of the types; none: none has that it
  // may have.
  std::optional<NodeRange> narrowest(const Ask& ask, TypeMask types) const;
  void offer_nodes(const Ask& ask, TypeMask wanted);
  NodeId tightest(const Ask& ask, GpuTypeId type) const;  // none: no node has room. O(nodes)
  void offer_host_mix(const Ask& ask);
  void offer_spread_mix(const Ask& ask);
  // Takes up to `gpus` GPUs of the type, on few nodes; returns what is missing.
  std::uint32_t gather(const Ask& ask, GpuTypeId type, NodeRange range, std::uint32_t gpus);
  void gather_host(const Ask& ask, std::span<const NodeId> host);
  // Makes a gang of the slices added since `first`.
  void close(const Ask& ask, std::size_t first);

  const Cluster& cluster_;
  const bool mixed_;
  std::uint32_t type_gpus_max_ = 0;
  std::vector<std::vector<NodeId>> hosts_;  // those with several nodes
  std::vector<std::vector<NodeId>> nodes_;  // by type, those with the least held worth first
  const HadarBid* bid_ = nullptr;           // at hand
  std::vector<GpuTypeId> types_;            // that it can run on, the most worth first
  std::vector<GpuTypeId> free_types_;       // those of them that there are
  IdVector<NodeId, double> held_worth_;     // of what bidders hold on the node
  bool is_by_row_ = true;                   // nodes_ are in the order of their rows
  std::vector<HadarGang> found_;
  std::vector<Slice> slices_;
};

}  // namespace fairlead
