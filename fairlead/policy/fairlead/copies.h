// Copies: jobs that may train as several copies, one a node (HadarE, arXiv 2503.10918), bid for
// each copy. The choice of the bidding copies is ours.
//
// A copy is one more offer with its own weight, because the user has more GPUs ahead of it. The
// offers of the largest weights are kept, up to the number of GPUs. If a short job's copy outweighs
// a long job's gang, it gets the GPUs first.
//
// All copies of a job pause when a copy is added or removed. So a job asks for another copy only if
// that ends it sooner by more than the pause: new copies in rounds only, its present ones always. A
// gang that does not fit on a node has no copies; elastic jobs stretch instead.
#pragma once

#include "fairlead/policy/hadar/auction.h"

#include <cstdint>
#include <vector>

namespace fairlead {

class Copies {
 public:
  struct Options {
    std::uint32_t most;    // per job; 0: as many as there are nodes; 1: its gang alone
    Duration switch_cost;  // expected, of one more
  };

  explicit Copies(const Options& options) : options_(options) {}

  bool any() const { return options_.most != 1; }
  // Returns the number of copies, at least 1, that the job asks for. One copy alone would end it in
  // `left_s`; `may_grow`: more copies than it has are allowed. O(types).
  std::uint32_t wanted(const View& view, JobId job, double left_s, bool may_grow);

  void clear() { offers_.clear(); }
  // Adds an offer: the job's gang, or, if copy > 0, one more copy. The bidder must outlive add().
  void offer(const HadarBidder& bidder, std::uint32_t copy, double weight);
  // Adds to the bidders the copies among the offers of the largest weights, for that many GPUs.
  // Invalidates pointers to bidders. O(offers + gpus x log offers).
  void add(std::uint32_t gpus, std::vector<HadarBidder>& bidders);

 private:
  struct Offer {
    double weight = 0;
    std::uint32_t copy = 0;
    const HadarBidder* bidder = nullptr;
  };

  std::uint32_t nodes_for(const View& view, JobId job);

  const Options options_;
  IdVector<GpuTypeId, std::uint32_t> nodes_;  // by type
  std::vector<Offer> offers_;                 // offers of the present decision
  std::vector<HadarBidder> added_;
};

}  // namespace fairlead
