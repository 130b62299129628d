// HadarDual: who runs in one round, Hadar's dual subroutine (IPDPS 2024; reconstructed).
//
// Chooses gangs for bids so that their worths add up to as much as can be, among the gangs that
// HadarGangs finds. A job may buy a gang whose payoff is above 0: prices rise while GPUs are given
// out, so the later a job is in the order, the better its reason must be.
//
// The search walks the bids in the order given and keeps the best `beam` drafts, at most one for
// each number of free GPUs per type. Drafts are compared by what they have chosen and the bound of
// clearing.h on what the others can add. In large rounds the beam covers the head of the order, and
// one draft goes on.
//
// What cannot change the choice is left out: drafts whose bound is below what another has already,
// and gangs that at clearing prices gain too little to stay in the beam. So most bids behind those
// that win cost a few comparisons, and the walk ends before the last bid.
//
// Cost: O(drafts tried x nodes), at most bids + a constant of drafts. No allocation once warm.
#pragma once

#include "fairlead/policy/hadar/beam.h"
#include "fairlead/policy/hadar/clearing.h"
#include "fairlead/policy/hadar/gangs.h"

#include <vector>

namespace fairlead {

struct HadarSearch {
  std::uint32_t beam;    // how many drafts it keeps
  bool mixed;            // gangs may mix types
  bool work_conserving;  // what is left then goes to the jobs that fit, in order
};

class HadarDual {
 public:
  // The cluster must outlive it. REQUIRES: search.beam > 0.
  HadarDual(const Cluster& cluster, const HadarSearch& search);

  // One round. What it refers to must outlive the call.
  struct Round {
    std::span<const HadarBid> bids;  // results are best if ordered by falling worth per GPU
    const HadarFree& free;
    const HadarPrices& prices;
    const HadarClearing& clearing;  // fitted to the bids and the free GPUs
  };

  void solve(const Round& round);
  // The same by trying every gang that the bound does not rule out, for tests. Exponential.
  void solve_exactly(const Round& round);

  // What was chosen, until the next solve. By position among the bids; empty: it does not run.
  Gang gang(std::size_t bid) const;
  double payoff(std::size_t bid) const { return chosen_[bid].payoff; }
  double worth() const { return worth_; }
  const HadarFree& free() const { return free_; }

 private:
  // A gang given to a bid, and the one given before it.
  struct Choice {
    std::uint32_t before = 0;
    std::uint32_t bid = 0;
    HadarGang gang;
  };
  struct Draft {
    HadarFree free;
    std::uint64_t key = 0;   // of the free GPUs by type
    std::uint32_t gpus = 0;  // free
    double free_cost = 0;    // of them, at clearing prices
    double worth = 0;
    double idle = 0;         // bound if it skips the bid at hand
    std::uint32_t last = 0;  // choice; 0: none
  };
  // At most what a kind of gang adds to a draft's bound, and what it takes off the key.
  struct Addition {
    double gain = 0;
    std::uint64_t key = 0;
  };
  using Child = HadarBeam::Child;
  static constexpr std::uint32_t kSkip = 0xffffffff;  // instead of a gang of tried_

  void begin(const Round& round);
  // What is free in the draft for that bid: no two copies of a job are on one node.
  const HadarFree& free_for(const Round& round, std::size_t index, const Draft& draft);
  // The most that a draft can come to with the bids from `next` on.
  double bound(const Draft& draft, std::size_t next) const {
    return draft.worth + gains_[next] + draft.free_cost;
  }
  // Of so many GPUs by type; keys of disjoint gangs add up.
  std::uint64_t key(Gang gang) const;
  void skip(std::size_t index, std::uint32_t width);
  void look_at(const Round& round, std::size_t index);
  HadarGangs::Wanted wanted(const HadarBid& bid, const Draft& draft) const;
  void try_gangs(const Round& round, std::size_t index, std::uint32_t draft);
  void make_drafts(const Round& round, std::size_t index, std::span<const Child> children);
  void give(const Round& round, Draft& draft, std::size_t index, const HadarGang& gang,
            Gang slices);
  void branch(const Round& round, std::size_t index, const Draft& draft);
  void read_back(const Draft& draft);
  void fill(const Round& round);

  const Cluster& cluster_;
  const HadarSearch search_;
  HadarGangs gangs_;

  std::vector<std::uint64_t> key_units_;  // by type: what one GPU adds to a key
  std::vector<double> gains_;             // by bid: what it and those behind it gain, at most
  std::vector<std::uint32_t> smallest_;   // by bid: the smallest gang of it and those behind it
  std::vector<Draft> drafts_, next_drafts_;
  std::size_t draft_count_ = 0;
  bool is_full_ = false;  // there are, or were, as many drafts as the beam holds
  double cutoff_ = 0;     // children of lower score are of no use
  HadarBeam beam_;
  std::vector<Addition> of_type_;  // by type: of gangs for the bid at hand
  Addition of_held_;               // of the one it has
  std::vector<HadarGang> tried_;
  std::vector<Slice> tried_slices_;
  std::vector<Choice> choices_;
  std::vector<Slice> slices_;      // of the choices
  std::vector<HadarGang> chosen_;  // by bid
  double worth_ = 0;
  Draft best_;              // of solve_exactly
  std::uint32_t last_ = 0;  // choice of the best draft
  HadarFree free_;
  HadarFree apart_;  // used within free_for
};

}  // namespace fairlead
