// Turns: the jobs that get GPUs in the next quantum (Gandiva_fair: split stride).
//
// First the centre walks the jobs of several nodes. Then each contended node chooses among its own
// jobs; GPUs that the centre gave away are lost to these.
//
//   by weight  (ours) a node takes the jobs of the greatest weight (weights.h) that fit. The centre
//              takes jobs in order of urgency, and one runs if its weight is at least the loss of
//              its nodes' own jobs.
//   by stride  the slides' rule on a node (kit/gang_stride.h). The centre takes jobs in order of
//              pass, and one runs if no contended node of its gang has a smaller mean pass.
//
// Either way a user's jobs on a node are in order of pass, so they have equal turns.
// A node runs all its jobs and is never looked at if all of them fit.
//
// A quantum: begin(); choose_spreads(); for each contended node, in order: choose(), then stop the
// jobs that were not chosen. The next node needs to know which users have no GPUs.
//
// Cost: O(jobs of contended nodes x GPUs of a node + users) for a quantum. It grows by the same
// amount for each job of several nodes on contended nodes.
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
  kStrict,  // by stride, but a job that does not fit blocks those behind it
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

  // Starts a quantum. REQUIRES: the accounts are up to date.
  void begin();
  // Sets `chosen` of spread jobs. REQUIRES: begin() was called just before.
  void choose_spreads(const View& view);
  // Sets `chosen` of the node's own jobs. REQUIRES: choose_spreads() was called in this quantum.
  void choose(const View& view, NodeId node);

  // Returns the waiting job of the node for the `free` GPUs that became free, or none: the job with
  // the smallest pass among the jobs that fit and need not move. O(jobs of the node).
  JobId next(const View& view, NodeId node, std::uint32_t free) const;

 private:
  bool by_weight() const { return options_.rule == TurnRule::kWeight; }
  std::uint32_t left_on(NodeId node) const;
  double key(const View& view, const StrideClient& client) const;
  bool may_run(const View& view, const SpreadJob& spread);
  bool is_next_in_stride(const SpreadJob& spread) const;
  bool outweighs(const View& view, const SpreadJob& spread);
  void weigh(const View& view, NodeId node);
  double ahead(UserId user, std::uint32_t gpus);
  void choose_by_weight(const View& view, NodeId node);
  void choose_residents(const View& view, NodeId node);
  std::uint64_t own_gpus(const View& view, JobId job) const;

  const Options options_;
  Homes& homes_;
  Weights weights_;

  // State of the quantum that starts.
  struct Ranked {
    double key;
    std::uint32_t order;
    std::uint32_t row;  // row of homes_.spreads()
  };
  std::vector<Ranked> order_;
  IdVector<NodeId, std::uint32_t> left_;          // GPUs that nodes with spread jobs have left for
                                                  // their own
  BestFill best_;                                 // best fill of the last weighed node
  std::vector<BestFill::Item> items_;             // its jobs
  std::vector<std::pair<UserId, double>> ahead_;  // GPUs so far of each user on the node
  std::vector<std::pair<double, std::uint32_t>> passes_;  // and their orders, while `pass` and
                                                          // `order` have other values
};

}  // namespace fairlead
