// Turns: which jobs hold GPUs in the next quantum (Gandiva_fair: split stride).
//
// Each contended node chooses among its own jobs, and before them, at the centre, the jobs of several
// nodes are walked. What one of these takes of a node is lost to the node's own jobs.
//
//   by weight  (ours) a node takes the jobs of the greatest weight (weights.h) that fit. At the centre
//              jobs stand in order of urgency, and one runs if its weight is at least what its nodes
//              would lose by it.
//   by stride  the slides' rule on a node (kit/gang_stride.h). At the centre jobs stand in order of
//              pass, and one runs if none of its nodes that is contended has a smaller mean pass.
//
// A user's jobs on a node stand in order of pass either way, so they have equal turns.
// A node whose jobs all fit runs them all and is never looked at.
//
// A quantum:  begin(); choose_spreads(); for each contended node, in order: choose(), and stop those
//             that were not chosen, as it counts on the next node who holds nothing.
//
// Cost: O(jobs of contended nodes x GPUs of a node + users) for a quantum, and as much again as jobs
// of several nodes stand on contended ones.
#pragma once

#include "fairlead/policy/gandiva_fair/homes.h"
#include "fairlead/policy/gandiva_fair/weights.h"
#include "fairlead/policy/kit/best_fill.h"

#include <cstdint>
#include <utility>
#include <vector>

namespace fairlead {

enum class TurnRule : std::uint8_t {
  kWeight,
  kStride,
  kStrict,  // by stride, but what does not fit holds up those behind it
};

class Turns {
 public:
  struct Options {
    TurnRule rule;
    bool resident;  // suspended jobs keep their GPUs, unless they are far behind; by weight only
    Duration quantum;
  };

  // Both must outlive it.
  Turns(const Options& options, Homes& homes, const Accounts& accounts)
      : options_(options), homes_(homes), weights_(options.quantum, homes, accounts) {}

  // A quantum begins. REQUIRES: the accounts are up to date.
  void begin();
  // Sets `chosen` of spread jobs. REQUIRES: begin() was called just before.
  void choose_spreads(const View& view);
  // Sets `chosen` of the node's own jobs. REQUIRES: choose_spreads() was called in this quantum.
  void choose(const View& view, NodeId node);

  // The job of the node that waits and should have GPUs of which `free` came free, or none: that with
  // the smallest pass among those that fit and need not move. O(jobs of the node).
  JobId next(const View& view, NodeId node, std::uint32_t free) const;

 private:
  bool by_weight() const { return options_.rule == TurnRule::kWeight; }
  std::uint32_t left_on(NodeId node) const;
  double key(const View& view, const StrideClient& client) const;
  bool may_run(const View& view, const Homes::Spread& spread);
  bool is_next_in_stride(const Homes::Spread& spread) const;
  bool outweighs(const View& view, const Homes::Spread& spread);
  void weigh(const View& view, NodeId node);
  double ahead(UserId user, std::uint32_t gpus);
  void choose_by_weight(const View& view, NodeId node);
  void choose_residents(const View& view, NodeId node);
  std::uint64_t own_gpus(const View& view, JobId job) const;

  const Options options_;
  Homes& homes_;
  Weights weights_;

  // Of the quantum that begins.
  struct Ranked {
    double key;
    std::uint32_t order;
    std::uint32_t row;  // of homes_.spreads()
  };
  std::vector<Ranked> order_;
  IdVector<NodeId, std::uint32_t> left_;          // GPUs of nodes with spread jobs for their own
  BestFill best_;                                 // of the node that was weighed last
  std::vector<BestFill::Item> items_;             // its jobs
  std::vector<std::pair<UserId, double>> ahead_;  // of each of their users: GPUs, so far
  std::vector<std::pair<double, std::uint32_t>> passes_;  // and orders, while others stand there
};

}  // namespace fairlead
