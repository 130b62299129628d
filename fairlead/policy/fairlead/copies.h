// Copies: jobs that may train as several copies, one a node (HadarE, arXiv 2503.10918), bid for each of
// them; which copies bid is ours.
//
// A copy is one more offer, with a weight of its own, as the user has more ahead of it. Of all offers those
// that weigh most are kept, for as many GPUs as there are: so where a short job's copy outweighs a long
// job's gang, it gets the GPUs first.
//
// All copies of a job pause when it is given one more or loses one. So it asks for as many as each end it
// sooner by more than that, for new ones at rounds alone, and for those that it has. A gang that does not
// fit on a node has no copies; elastic jobs stretch instead.
#pragma once

#include "fairlead/policy/hadar/auction.h"

#include <cstdint>
#include <vector>

namespace fairlead {

class Copies {
 public:
  struct Options {
    std::uint32_t most;    // of a job; 0: as many as there are nodes; 1: its gang alone
    Duration switch_cost;  // expected, of one more
  };

  explicit Copies(const Options& options) : options_(options) {}

  bool any() const { return options_.most != 1; }
  // How many copies the job asks for, at least 1, which one copy alone would end in `left_s`; `may_grow`:
  // more than it has. O(types).
  std::uint32_t wanted(const View& view, JobId job, double left_s, bool may_grow);

  void clear() { offers_.clear(); }
  // An offer: the job's gang, or, if copy > 0, one more copy. The bidder must outlive add().
  void offer(const HadarBidder& bidder, std::uint32_t copy, double weight);
  // Adds to the bidders the copies that are among the offers that weigh most, for as many GPUs. No pointer
  // to a bidder is valid after that. O(offers x log offers).
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
  std::vector<Offer> offers_;                 // of the decision under way
  std::vector<HadarBidder> added_;
};

}  // namespace fairlead
