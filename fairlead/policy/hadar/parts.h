// HadarParts: the GPUs that the drafts of a round have not given out.
//
// A draft has a part for each GPU type. A part that is in several drafts does not change, so drafts share parts: a gang
// makes new parts for its own types alone, or changes parts that no other draft has. A part keeps the gang that a bid
// finds in it, for all drafts that have the part.
//
// begin: O(nodes). copy: O(nodes of the type). collect: O(parts). No allocation once warm.
#pragma once

#include "fairlead/model/free_index.h"

#include <array>
#include <limits>
#include <memory>
#include <span>
#include <vector>

namespace fairlead {

// The nodes of each type in the order in which equally tight ones are taken.
struct HadarOrder {
  IdVector<GpuTypeId, std::vector<NodeId>> nodes;
  IdVector<NodeId, std::uint32_t> place;  // row of the node in `nodes`
};

// GPUs that a round has to give out.
struct HadarFree {
  IdVector<NodeId, std::uint16_t> on;
  IdVector<GpuTypeId, std::uint32_t> of_type;  // sums of `on`
  // Masks of the GPUs that residents keep; empty if any GPUs of a node will do.
  IdVector<NodeId, std::uint64_t> kept{};
  TaskRoom room{};  // for tasks, by resources other than GPUs; take() and give() leave it as it is

  // Makes the sums. O(nodes).
  void sum(const Cluster& cluster);
  // O(slices).
  void take(const Cluster& cluster, Gang gang);
  void give(const Cluster& cluster, Gang gang);
  // Keeps these GPUs, by slice; none: it keeps no certain ones. O(slices), at first O(nodes).
  void keep(Gang gang, std::span<const std::uint64_t> gpu_masks);
};

// The free GPUs of one type.
struct alignas(64) HadarPart {
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
  // A gang that a bid can have here, and the part that it leaves (HadarDual).
  struct Found {
    std::uint64_t ask = 0;  // number of the bid; values of another bid are out of date
    std::uint32_t gang = kNone;
    double worth = 0;
    double cost = 0;
    std::uint64_t key = 0;
    HadarPart* rest = nullptr;  // null: it is not made yet
  };
  struct Usable {
    std::uint64_t ask = 0;
    std::uint32_t gpus = 0;  // for whole tasks of the bid
  };

  // A search reads these of many drafts, so they come first, on few cache lines.
  std::uint32_t gpus = 0;        // sum of `on`
  double cost = 0;               // of all of them, at clearing prices (HadarDual)
  double price = 0;              // of a GPU, with these free
  std::array<Found, 2> found{};  // the present gang of a bid, and one of this type

  std::uint64_t sizes = 0;                  // bit n: some node has n + 1 free GPUs
  std::vector<std::uint16_t> on{};          // by place of the node in the order
  std::vector<std::uint64_t> nodes_with{};  // rows by free GPUs, of bits by place
  std::vector<std::uint64_t> kept{};        // as in HadarFree, by place
  TaskRoom room{};                          // of nodes of this type
  Usable usable{};
  std::uint64_t mark = 0;

  // Makes the results of the searches of all bids out of date.
  void forget_asked() {
    for (Found& one : found) one.ask = 0;
    usable.ask = 0;
  }
  // Sets the free GPUs of the node at that place.
  void set(std::uint32_t place, std::uint32_t free);
  void keep(std::uint32_t place, std::uint64_t gpu_mask);
  // Returns the place of the tightest node with at least that many GPUs free, the first of equals; kNone if there is none.
  // O(nodes / 64). REQUIRES: least > 0.
  std::uint32_t tightest(std::uint32_t least) const;

 private:
  std::span<std::uint64_t> row(std::uint32_t free);
};

// The parts of a draft, by type.
using HadarRest = std::span<HadarPart* const>;

class HadarParts {
 public:
  // Starts a round: makes the parts of these GPUs, without prices. Parts of earlier rounds are gone.
  void begin(const Cluster& cluster, const HadarOrder& order, const HadarFree& free,
             std::vector<HadarPart*>& first);
  // Returns a part with the same GPUs.
  HadarPart& copy(const HadarPart& part);
  // Returns true if it is time to collect().
  bool is_full() const { return made_ >= kMadeMax; }
  // Frees parts for other use: calls each(visit), which must call visit(rest) for all drafts.
  template <class Each>
  void collect(const Each& each) {
    ++mark_;
    each([&](HadarRest rest) {
      for (HadarPart* part : rest) part->mark = mark_;
    });
    sweep();
  }
  // The number of parts in use. Without a collect(), release(n) frees the parts that were made since it was n.
  std::size_t used() const { return used_; }
  void release(std::size_t used) { used_ = used; }

 private:
  static constexpr std::size_t kMadeMax = 256;  // chosen: they stay in a core's cache
  HadarPart& make();
  void sweep();

  std::vector<std::unique_ptr<HadarPart>> parts_;  // the first used_ are in use, or in free_
  std::size_t used_ = 0;
  std::vector<HadarPart*> free_;
  std::size_t made_ = 0;  // since the last collect()
  std::uint64_t mark_ = 0;
};

}  // namespace fairlead
