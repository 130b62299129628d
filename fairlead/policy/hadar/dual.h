// HadarDual: chooses the jobs that run in one round, Hadar's dual subroutine (IPDPS 2024;
// reconstructed).
//
// Chooses gangs for bids, among the gangs that HadarGangs finds, so that the sum of their worths is
// as large as possible. A job may buy a gang with a payoff above 0. Prices rise while GPUs are
// given out, so the later a job is in the order, the more it must gain.
//
// The search walks the bids in the order given. It keeps the best `beam` drafts, at most one for
// each number of free GPUs per type. The score of a draft is the worth of its choices plus the
// bound of clearing.h on the other bids. In large rounds the beam covers the head of the order, and
// one draft goes on.
//
// Branches that cannot change the choice are left out: drafts with a bound below the worth of
// another, and gangs that gain too little at clearing prices to stay in the beam. So most bids
// behind the winners cost a few comparisons, and the walk ends before the last bid.
//
// Drafts (drafts.h) share parts, one for each type (parts.h), and choices (choices.h). A bid searches a part once, for all
// drafts that have it (tried.h).
//
// Cost: O(drafts tried x types + new parts x nodes), at most bids + a constant of drafts, and a constant of new parts:
// one draft alone changes its own. No allocation once warm.
#pragma once

#include "fairlead/policy/hadar/beam.h"
#include "fairlead/policy/hadar/choices.h"
#include "fairlead/policy/hadar/clearing.h"
#include "fairlead/policy/hadar/drafts.h"
#include "fairlead/policy/hadar/gangs.h"
#include "fairlead/policy/hadar/tried.h"

#include <vector>

namespace fairlead {

struct HadarSearch {
  std::uint32_t beam;    // number of drafts that it keeps
  bool mixed;            // gangs may mix types
  bool work_conserving;  // the remaining GPUs then go to the jobs that fit, in order
};

class HadarDual {
 public:
  // The cluster must outlive it, with the nodes that it has now. REQUIRES: search.beam > 0.
  HadarDual(const Cluster& cluster, const HadarSearch& search);

  // The input of one round; it must outlive the call.
  struct Round {
    std::span<const HadarBid> bids;  // results are best in order of falling worth per GPU
    const HadarFree& free;
    const HadarPrices& prices;
    const HadarClearing& clearing;  // fitted to the bids and the free GPUs
  };

  void solve(const Round& round);
  // Does the same by trying every gang that the bound does not rule out, for tests. Exponential.
  void solve_exactly(const Round& round);

  // Returns the chosen gang of a bid by position, until the next solve; empty: it does not run.
  Gang gang(std::size_t bid) const;
  double payoff(std::size_t bid) const { return chosen_[bid].payoff; }
  double worth() const { return worth_; }
  std::size_t nodes() const { return gangs_.order().place.size(); }
  const HadarFree& free() const { return free_; }

 private:
  // The most that a kind of gang adds to a draft's bound, and the amount it takes off the key.
  struct Addition {
    double gain = 0;
    std::uint64_t key = 0;
    GpuTypeId type{};  // none: its GPUs are of several
  };
  // The present bid.
  struct Asked {
    std::vector<Addition> of_types;   // additions of gangs on each type that it can use
    Addition of_present;              // addition of its present gang
    std::vector<std::uint32_t> able;  // drafts that may buy for it
  };
  using Child = HadarBeam::Child;
  using Found = HadarPart::Found;
  // The number of a child's gang: its place among the gangs of the bid, which orders equal children, above its row in
  // tried_.
  static constexpr std::uint32_t kPlaceShift = 25;
  static constexpr std::uint32_t kTriedMask = (std::uint32_t{1} << kPlaceShift) - 1;
  static constexpr std::uint32_t kSkip = 0xffffffff;  // instead of a gang

  void begin(const Round& round);
  // Returns the parts that are free in the draft for that bid: no two copies of a job are on one node.
  HadarRest rest_for(const Round& round, std::size_t index, const HadarDraft& draft);
  // Sets prices and costs, after changes.
  static void price(const Round& round, GpuTypeId type, HadarPart& part);
  double free_cost(const HadarDraft& draft) const;
  // Returns the most that a draft can reach with the bids from `next` on.
  double bound(const HadarDraft& draft, std::size_t next) const {
    return draft.worth + gains_[next] + draft.free_cost;
  }
  // Returns the key of the gang's GPUs by type; keys of disjoint gangs add up.
  std::uint64_t key(Gang gang) const;
  void skip(std::size_t index, std::uint32_t width);
  void look_at(const Round& round, std::size_t index);
  void collect();
  void choose_drafts(const Round& round, std::size_t index);
  double lead_of_present(const HadarBid& bid, const Addition& addition) const;
  void try_gangs(const Round& round, std::size_t index);
  template <class RestOf>
  void try_kinds(const Round& round, const HadarBid& bid, std::span<const std::uint32_t> drafts,
                 const RestOf& rest_of);
  bool has_present(HadarRest from, GpuTypeId type) const;
  void try_one(const Round& round, std::uint32_t draft, HadarRest from, const Addition& addition,
               std::uint32_t place);
  Found find_one(const Round& round, const HadarDraft& draft, HadarRest from,
                 const Addition& addition, std::uint32_t place);
  // Adds a gang of the last find to tried_.
  Found note(const Round& round, const HadarGang& gang);
  void offer(std::uint32_t draft, const Found& found, std::uint32_t place);
  void make_drafts(const Round& round, std::size_t index, std::span<const Child> children);
  // Whether other drafts have parts of a draft.
  enum class Parts : std::uint8_t { kShared, kOwn };
  // `tried`: the gang's row in tried_.
  void give(const Round& round, HadarDraft& draft, Parts parts, std::size_t index,
            std::uint32_t tried);
  void take(const Round& round, HadarDraft& draft, Parts parts, const HadarBid& bid,
            std::uint32_t tried);
  void branch(const Round& round, std::size_t index, const HadarDraft& draft);
  void read_back(const Round& round, double worth, std::uint32_t last);
  void fill(const Round& round, HadarDraft& rest);

  const Cluster& cluster_;
  const HadarSearch search_;
  HadarGangs gangs_;

  std::vector<std::uint64_t> key_units_;  // by type: amount that one GPU adds to a key
  std::vector<double> gains_;             // by bid: the largest gain of it and the bids behind it
  std::vector<std::uint32_t> smallest_;   // by bid: the smallest gang of it and the bids behind it
  HadarDrafts drafts_;
  bool is_full_ = false;  // the drafts reached the size of the beam
  double cutoff_ = 0;     // children of lower score are of no use
  HadarBeam beam_;
  HadarParts parts_;
  Asked asked_;
  HadarTried tried_;
  HadarChoices choices_;
  std::vector<HadarGang> chosen_;  // by bid
  double worth_ = 0;
  std::uint32_t last_ = 0;  // choice of the best draft
  HadarFree free_;
  std::vector<HadarPart*> apart_;  // used within rest_for
};

}  // namespace fairlead
